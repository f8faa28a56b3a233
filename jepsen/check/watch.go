package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tenure/jepsen/history"
)

// Watch checks the changes told to watching clients while others put words that nobody else ever puts, delete and
// prune. The true changes are known from the acknowledged writes, with their revisions, and for writes of unknown
// outcome from the first sight of them.
//
// A stream is told every change under its prefix, in order, each once, none missing between where it resumed and the
// revision up to which it was told all. A read that waits shows the state at its index. Indexes never fall, and are not
// below the revisions acknowledged before the read was asked. At the end each watcher has come to see the last change.
func Watch(ops []history.Op) Result {
	w := &watched{r: Result{Checked: len(useful(ops)), Keys: 1}, puts: map[string]history.Op{},
		at: map[uint64][]history.Op{}, lost: map[uint64][]string{}, from: map[string]history.Op{}}
	w.file(ops)
	for _, op := range ops {
		if op.Outcome == history.OK && !op.Writes() {
			w.seen(op)
		}
	}
	w.tell()
	readers := map[string][]history.Op{}
	for _, op := range ops {
		if op.Outcome != history.OK || op.Writes() {
			continue
		}
		if op.Kind == history.Stream {
			w.stream(op)
		}
		readers[fmt.Sprintf("%s %s", op.Kind, op.Key)] = append(readers[fmt.Sprintf("%s %s", op.Kind, op.Key)], op)
	}
	var names []string
	for n := range readers {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		w.readers(readers[n])
	}
	return w.r
}

// watched is what is known of a history.
type watched struct {
	r    Result
	puts map[string]history.Op // by value
	// at are, by revision, the deletes and prunes that were acknowledged, or seen. Several can have one revision: the
	// delete of an absent key is told the store's present revision.
	at      map[uint64][]history.Op
	removes []history.Op          // those of unknown outcome that were not seen
	lost    map[uint64][]string   // keys that were seen to be deleted by writes of unknown outcome, by revision
	from    map[string]history.Op // by what was first seen of a write of unknown outcome: who saw it
	changes []change
	unsure  []history.Op // writes of which it is not known whether they were done
}

// change is one thing that happened to one key.
type change struct {
	history.Entry // Create is 0 if it was deleted
	by            []history.Op
}

func (w *watched) file(ops []history.Op) {
	for _, op := range ops {
		switch {
		case op.Kind == history.Put:
			w.puts[op.Value] = op
		case op.Kind != history.Delete && op.Kind != history.Prune:
		case op.Outcome == history.OK:
			w.at[op.Result] = append(w.at[op.Result], op)
		case op.Outcome == history.Info:
			w.removes = append(w.removes, op)
		}
	}
}

// seen notes what a reader was shown.
func (w *watched) seen(op history.Op) {
	shown := op.Entries
	if op.Kind == history.Get && !op.Absent {
		shown = []history.Entry{{Key: op.Key, Value: op.Value, Create: 1, Modify: op.Index}}
	}
	for _, e := range shown {
		switch {
		case e.Key == "": // of a session
		case op.Kind == history.Stream && e.Create == 0:
			w.seenGone(op, e)
		default:
			w.seenPut(op, e)
		}
	}
}

func (w *watched) seenPut(op history.Op, e history.Entry) {
	put, tried := w.puts[e.Value]
	switch {
	case !tried || put.Key != e.Key:
		w.r.add("from nowhere", fmt.Sprintf("nobody put %q into %s", e.Value, e.Key), op)
	case put.Outcome == history.Fail:
		w.r.add("refused but done", fmt.Sprintf("%s %q was seen although its client was told that it was not applied",
			e.Key, e.Value), put, op)
	case put.Call > op.Return:
		w.r.add("from the future", fmt.Sprintf("%s %q was seen before it was put", e.Key, e.Value), put, op)
	case put.Result == 0 && put.Outcome == history.Info:
		put.Result = e.Modify
		w.puts[e.Value], w.from[e.Value] = put, op
	case put.Result != e.Modify:
		w.r.add("wrong revision", fmt.Sprintf("%s %q was seen at %d, and is of %d", e.Key, e.Value, e.Modify,
			put.Result), w.evidence(put, e.Value, op)...)
	}
}

// evidence is of what happened by a write, and of somebody who saw it.
func (w *watched) evidence(by history.Op, name string, more ...history.Op) []history.Op {
	out := append([]history.Op{by}, more...)
	if op, ok := w.from[name]; ok {
		out = append(out, op)
	}
	return out
}

// seenGone finds who deleted what was seen to be deleted.
func (w *watched) seenGone(op history.Op, e history.Entry) {
	if i := slices.IndexFunc(w.at[e.Modify], func(by history.Op) bool { return covers(by, e.Key) }); i >= 0 {
		if w.at[e.Modify][i].Outcome == history.Info && !slices.Contains(w.lost[e.Modify], e.Key) {
			w.lost[e.Modify] = append(w.lost[e.Modify], e.Key)
		}
		return
	}
	for i, r := range w.removes {
		if covers(r, e.Key) && r.Call <= op.Return {
			r.Result = e.Modify
			w.at[e.Modify] = append(w.at[e.Modify], r)
			w.from[goneName(e.Modify)], w.lost[e.Modify] = op, []string{e.Key}
			w.removes = slices.Delete(w.removes, i, i+1)
			return
		}
	}
	w.r.add("from nowhere", fmt.Sprintf("nobody deleted %s at %d", e.Key, e.Modify), op)
}

func goneName(revision uint64) string { return fmt.Sprintf("@%d", revision) }

func covers(op history.Op, key string) bool {
	return op.Key == key || op.Kind == history.Prune && strings.HasPrefix(key, op.Key)
}

// tell lists what happened, in the order of revisions.
func (w *watched) tell() {
	var writes []history.Op
	for _, op := range w.puts {
		if op.Result > 0 {
			writes = append(writes, op)
		} else if op.Outcome == history.Info {
			w.unsure = append(w.unsure, op)
		}
	}
	w.unsure = append(w.unsure, w.removes...)
	for _, removes := range w.at {
		writes = append(writes, removes...)
	}
	slices.SortFunc(writes, func(a, b history.Op) int {
		return cmp.Or(cmp.Compare(a.Result, b.Result), -cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key))
	})
	there := map[string]bool{}
	last := history.Op{}
	for _, op := range writes {
		if op.Kind == history.Put {
			if last.Result == op.Result {
				w.r.add("two at one revision", fmt.Sprintf("two puts are of revision %d", op.Result), last, op)
			}
			last, there[op.Key] = op, true
			entry := history.Entry{Key: op.Key, Value: op.Value, Create: 1, Modify: op.Result}
			w.changes = append(w.changes, change{entry, w.evidence(op, op.Value)})
			continue
		}
		w.gone(op, there, w.evidence(op, goneName(op.Result)))
	}
}

func (w *watched) gone(op history.Op, there map[string]bool, by []history.Op) {
	keys := []string{op.Key}
	switch {
	case op.Outcome == history.Info: // which one of several it was may be mistaken, not what was seen
		keys = w.lost[op.Result]
		slices.Sort(keys)
	case op.Kind == history.Prune:
		keys = keys[:0]
		for key := range there {
			if strings.HasPrefix(key, op.Key) {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
	}
	for _, key := range keys {
		if there[key] {
			delete(there, key)
			w.changes = append(w.changes, change{history.Entry{Key: key, Modify: op.Result}, by})
		}
	}
}

// doubtful reports whether a write may have changed the key of which it is not known whether it was done.
func (w *watched) doubtful(key string) bool {
	return slices.ContainsFunc(w.unsure, func(op history.Op) bool { return covers(op, key) })
}
