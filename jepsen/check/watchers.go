package check

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"tenure/jepsen/history"
)

// stream checks one connection of a stream against what happened.
func (w *watched) stream(op history.Op) {
	type place struct {
		revision uint64
		key      string
	}
	told := map[place]history.Entry{}
	last := op.Index
	for _, e := range op.Entries {
		if e.Key == "" {
			continue
		}
		at := place{e.Modify, e.Key}
		if _, again := told[at]; again || e.Modify <= op.Index {
			w.r.add("told twice", fmt.Sprintf("a stream behind %d was told of %s at %d again", op.Index, e.Key,
				e.Modify), op)
		} else if e.Modify < last {
			w.r.add("out of order", fmt.Sprintf("a stream was told of %s at %d after %d", e.Key, e.Modify, last), op)
		}
		last = max(last, e.Modify)
		told[at] = e
	}
	from, _ := slices.BinarySearchFunc(w.changes, op.Index+1, func(c change,
		r uint64) int {
		return cmp.Compare(c.Modify, r)
	})
	for _, c := range w.changes[from:] {
		if c.Modify > op.Result {
			break
		}
		if !strings.HasPrefix(c.Key, op.Key) {
			continue
		}
		e, ok := told[place{c.Modify, c.Key}]
		if !ok || e.Value != c.Value || (e.Create == 0) != (c.Create == 0) {
			if c.Create == 0 && w.doubtful(c.Key) {
				continue // it may have been deleted before, by a write that nobody saw
			}
			w.r.add("missed",
				fmt.Sprintf("a stream from %d that was told all up to %d was not told that %s became %q at %d",
					op.Index, op.Result, c.Key, c.Value, c.Modify), append(slices.Clone(c.by), op)...)
		}
	}
}

// readers checks all who watch one key, or one prefix, in the same way.
func (w *watched) readers(ops []history.Op) {
	prefix := ops[0].Kind != history.Get
	var mine []change
	for _, c := range w.changes {
		if c.Key == ops[0].Key || prefix && strings.HasPrefix(c.Key, ops[0].Key) {
			mine = append(mine, c)
		}
	}
	if ops[0].Kind != history.Stream {
		w.indexes(ops, mine)
	}
	if ops[0].Kind == history.List {
		w.contents(ops, mine)
	}
	w.converged(ops, mine)
}

// indexes checks that they do not fall, and are not below what was done before the read began.
func (w *watched) indexes(ops []history.Op, mine []change) {
	var newest history.Op
	earlier(ops, ops, func(op history.Op) {
		if op.Index > newest.Index {
			newest = op
		}
	}, func(op history.Op) {
		if op.Index < newest.Index || op.Since > op.Index {
			w.r.add("index fell", fmt.Sprintf("index %d after %d had been seen", op.Index, max(newest.Index, op.Since)),
				newest, op)
		}
	})
	var done []history.Op // each change as the write that made it
	for _, c := range mine {
		if op := c.by[0]; op.Outcome == history.OK {
			done = append(done, op)
		}
	}
	newest = history.Op{}
	earlier(done, ops, func(op history.Op) {
		if op.Result > newest.Result {
			newest = op
		}
	}, func(op history.Op) {
		if op.Index < newest.Result {
			w.r.add("stale", fmt.Sprintf("index %d although a change at %d had been acknowledged", op.Index,
				newest.Result), newest, op)
		}
	})
}

// contents compares lists with what was there at their indexes.
func (w *watched) contents(ops []history.Op, mine []change) {
	ops = slices.Clone(ops)
	sort.SliceStable(ops, func(i, j int) bool { return ops[i].Index < ops[j].Index })
	state := map[string]change{}
	next := 0
	for _, op := range ops {
		if len(op.Entries) == 0 && op.Index <= 1 {
			continue // indexes are never 0: it may be of revision 0 or 1
		}
		for ; next < len(mine) && mine[next].Modify <= op.Index; next++ {
			if c := mine[next]; c.Create == 0 {
				delete(state, c.Key)
			} else {
				state[c.Key] = c
			}
		}
		found := map[string]bool{}
		for _, e := range op.Entries {
			found[e.Key] = true
			if c := state[e.Key]; (c.Value != e.Value || c.Modify != e.Modify) && !w.doubtful(e.Key) {
				w.r.add("torn", fmt.Sprintf("at %d %s was %q @%d, a list shows %q @%d", op.Index, e.Key, c.Value,
					c.Modify, e.Value, e.Modify), w.shows(c, e, op)...)
			}
		}
		for _, key := range sortedKeys(state) {
			if c := state[key]; !found[key] && !w.doubtful(key) {
				w.r.add("torn", fmt.Sprintf("at %d %s was %q @%d, a list lacks it", op.Index, key, c.Value, c.Modify),
					append(slices.Clone(c.by), op)...)
				break
			}
		}
	}
}

func (w *watched) shows(c change, e history.Entry, op history.Op) []history.Op {
	out := append(slices.Clone(c.by), op)
	if put, ok := w.puts[e.Value]; ok {
		out = append(out, put)
	}
	return out
}

func sortedKeys(m map[string]change) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// converged checks that each client has come to see the last change.
func (w *watched) converged(ops []history.Op, mine []change) {
	var final change
	for _, c := range mine {
		if c.by[0].Outcome == history.OK {
			final = c
		}
	}
	if final.Key == "" {
		return
	}
	last := map[int]history.Op{}
	for _, op := range ops {
		if op.Call >= last[op.Client].Call {
			last[op.Client] = op
		}
	}
	for _, client := range sortedInts(last) {
		op := last[client]
		position := op.Index
		if op.Kind == history.Stream {
			position = max(op.Result, op.Gap)
		}
		if waits := op.Kind == history.Stream || op.Mode == "waiting"; waits && position < final.Modify {
			w.r.add("did not converge", fmt.Sprintf("the last change, of %s at %d, was not seen: only up to %d",
				final.Key, final.Modify, position), final.by[0], op)
		}
	}
}

func sortedInts(m map[int]history.Op) (out []int) {
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
