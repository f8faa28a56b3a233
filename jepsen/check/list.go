package check

import (
	"fmt"
	"sort"
	"strings"

	"tenure/jepsen/history"
)

// Lists checks that each list is the state of its prefix at the revision that it names, while other clients put keys
// below the prefix and prune them. Keys are PREFIX/WRITER/…, and no two clients write below the same PREFIX/WRITER/.
// After a write of unknown outcome its client stops writing there, so that no later write can hide its effect.
func Lists(ops []history.Op) Result {
	r := Result{}
	names, by := groups(ops, func(op history.Op) string { return top(op.Key) })
	for _, n := range names {
		r.merge(listPrefix(by[n]))
	}
	return r
}

// top returns the first two parts of a key, with a slash behind each: what the lists of a group name.
func top(key string) string {
	parts := strings.SplitAfterN(key, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "")
}

// lists is the check of one prefix: the writes in the order of their revisions, replayed up to that of each list.
type lists struct {
	r       Result
	state   map[string]history.Op // key → the put that is there
	unknown map[string]history.Op // value → put of unknown outcome, not seen yet
	pruned  map[string]history.Op // prefix → its prune of unknown outcome
	refused map[string]history.Op // value → put
}

func listPrefix(all []history.Op) Result {
	ops := useful(all)
	l := &lists{r: Result{Checked: len(ops), Keys: 1}, state: map[string]history.Op{},
		unknown: map[string]history.Op{}, pruned: map[string]history.Op{}, refused: map[string]history.Op{}}
	var writes, reads []history.Op
	for _, op := range all {
		switch {
		case op.Kind == history.List && op.Outcome == history.OK:
			reads = append(reads, op)
		case op.Writes() && op.Outcome == history.OK:
			writes = append(writes, op)
		case op.Outcome == history.Info && op.Kind == history.Prune:
			l.pruned[op.Key] = op
		case op.Outcome == history.Info && op.Writes():
			l.unknown[op.Value] = op
		case op.Writes():
			l.refused[op.Value] = op
		}
	}
	realTime(&l.r, writes, reads)
	sort.SliceStable(writes, func(i, j int) bool { return writes[i].Result < writes[j].Result })
	sort.SliceStable(reads, func(i, j int) bool { return reads[i].Index < reads[j].Index })
	next := 0
	for _, read := range reads {
		for next < len(writes) && writes[next].Result <= read.Index {
			l.apply(writes[next])
			next++
		}
		l.compare(read)
	}
	return l.r
}

func (l *lists) apply(op history.Op) {
	if op.Kind == history.Put {
		l.state[op.Key] = op
		return
	}
	for key := range l.state {
		if strings.HasPrefix(key, op.Key) {
			delete(l.state, key)
		}
	}
}

// compare checks one list against the state at its revision.
func (l *lists) compare(read history.Op) {
	found := map[string]bool{}
	for _, e := range read.Entries {
		found[e.Key] = true
		put, known := l.state[e.Key]
		if known && put.Value == e.Value && put.Result == e.Modify {
			continue
		}
		if l.appeared(e, read, put.Result) {
			continue
		}
		switch {
		case known:
			l.r.add("torn list", fmt.Sprintf("at revision %d %s was %q @%d, the list shows %q @%d",
				read.Index, e.Key, put.Value, put.Result, e.Value, e.Modify), put, read)
		case l.refused[e.Value].Kind != "":
			l.r.add("refused but done",
				fmt.Sprintf("%s is in a list although its client was told that it was not applied", e.Key),
				l.refused[e.Value], read)
		default:
			l.r.add("torn list", fmt.Sprintf("at revision %d there was no %s, the list shows %q @%d", read.Index, e.Key,
				e.Value, e.Modify), read)
		}
	}
	l.absent(read, found)
}

func (l *lists) absent(read history.Op, found map[string]bool) {
	lost := ""
	for key := range l.state {
		if found[key] || !strings.HasPrefix(key, read.Key) || l.mayBePruned(key, read) {
			continue
		}
		if lost == "" || key < lost {
			lost = key
		}
	}
	if lost != "" {
		put := l.state[lost]
		l.r.add("lost or torn", fmt.Sprintf("at revision %d %s was %q @%d, the list lacks it", read.Index, lost,
			put.Value, put.Result), put, read)
	}
}

// mayBePruned reports whether a prune of unknown outcome can have taken key away; then it has taken all below its
// prefix.
func (l *lists) mayBePruned(key string, read history.Op) bool {
	for prefix, op := range l.pruned {
		if !strings.HasPrefix(key, prefix) || op.Call > read.Return {
			continue
		}
		for _, e := range read.Entries {
			if strings.HasPrefix(e.Key, prefix) {
				return false
			}
		}
		return true
	}
	return false
}

// appeared reports whether the entry can come from a put of unknown outcome, after revision. From then on it is known.
func (l *lists) appeared(e history.Entry, read history.Op, revision uint64) bool {
	op, ok := l.unknown[e.Value]
	if !ok || op.Key != e.Key || e.Modify <= revision || e.Modify > read.Index || op.Call > read.Return {
		return false
	}
	delete(l.unknown, e.Value)
	op.Result = e.Modify
	l.state[e.Key] = op
	return true
}

// realTime checks that revisions grow in the order of time, among lists and between lists and writes.
func realTime(r *Result, writes, reads []history.Op) {
	both := append(append([]history.Op(nil), writes...), reads...)
	revision := func(op history.Op) uint64 {
		if op.Kind == history.List || op.Kind == history.Get {
			return op.Index
		}
		return op.Result
	}
	var newest history.Op
	earlier(both, both, func(op history.Op) {
		if revision(op) > revision(newest) {
			newest = op
		}
	}, func(op history.Op) {
		before, now := revision(newest), revision(op)
		writes := op.Kind == history.Put || op.Kind == history.Acquire || op.Kind == history.Txn && op.Matched &&
			op.Writes()
		if now < before || (writes && now == before && before > 0) {
			r.add("stale", fmt.Sprintf("revision %d after %d had been seen", now, before), newest, op)
		}
	})
}
