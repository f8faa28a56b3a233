package check

import (
	"slices"
	"sort"

	"tenure/jepsen/history"
)

// Problem is something in a history that one copy of the data cannot have done.
type Problem struct {
	Kind   string       // such as "lost write"; what Shrink keeps the same
	Reason string       // one line for people
	Ops    []history.Op // the operations that show it, without the rest
}

// Result is what a checker found in a history. Reads whose outcome is unknown and operations that failed say nothing
// and are not counted.
type Result struct {
	Checked   int // operations
	Keys      int // keys, lists, counters or prefixes checked apart
	Undecided int // of these, ones that the checker could not decide: not a pass
	Problems  []Problem
	Shown     int // of what the workload is there to show, where there is such a thing
	// Counts has counts of telling events, by name, if the checker counts any.
	Counts map[string]int
}

// maxProblems bounds what a checker reports of each kind: the first few tell the story.
const maxProblems = 5

func (r *Result) add(kind, reason string, ops ...history.Op) {
	if r.count(kind) < maxProblems {
		sort.SliceStable(ops, func(i, j int) bool { return ops[i].Call < ops[j].Call })
		ops = slices.CompactFunc(ops, same)
		r.Problems = append(r.Problems, Problem{Kind: kind, Reason: reason, Ops: ops})
	}
}

func (r *Result) count(kind string) (n int) {
	for _, p := range r.Problems {
		if p.Kind == kind {
			n++
		}
	}
	return n
}

// Add adds the findings of another checker about other operations of the same history.
func (r *Result) Add(o Result) {
	if r.Counts == nil {
		r.Counts = map[string]int{}
	}
	r.merge(o)
}

// merge adds the findings of another part of the same history.
func (r *Result) merge(o Result) {
	r.Checked += o.Checked
	r.Keys += o.Keys
	r.Undecided += o.Undecided
	r.Shown += o.Shown
	for name, n := range o.Counts {
		r.Counts[name] += n
	}
	for _, p := range o.Problems {
		if r.count(p.Kind) < maxProblems {
			r.Problems = append(r.Problems, p)
		}
	}
}

// useful returns ops without those that say nothing: failures, and reads without an answer.
func useful(ops []history.Op) []history.Op {
	out := make([]history.Op, 0, len(ops))
	for _, op := range ops {
		if op.Outcome == history.OK || (op.Outcome == history.Info && op.Writes()) {
			out = append(out, op)
		}
	}
	return out
}

// groups splits operations by the name that of gives them, in the order of the names.
func groups(ops []history.Op, of func(history.Op) string) (names []string, by map[string][]history.Op) {
	by = map[string][]history.Op{}
	for _, op := range ops {
		by[of(op)] = append(by[of(op)], op)
	}
	for n := range by {
		names = append(names, n)
	}
	sort.Strings(names)
	return names, by
}

// earlier walks two kinds of events in the order of time: for every op of later, in the order of its call, it first
// feeds all ops of first that had returned before that call. It is how "a returned before b was called" is asked of
// many pairs at once.
func earlier(first, later []history.Op, feed, ask func(history.Op)) {
	first, later = append([]history.Op(nil), first...), append([]history.Op(nil), later...)
	sort.SliceStable(first, func(i, j int) bool { return first[i].Return < first[j].Return })
	sort.SliceStable(later, func(i, j int) bool { return later[i].Call < later[j].Call })
	next := 0
	for _, op := range later {
		for next < len(first) && first[next].Return < op.Call {
			feed(first[next])
			next++
		}
		ask(op)
	}
}

// same reports whether two are the same operation: a client has one at a time.
func same(a, b history.Op) bool { return a.Client == b.Client && a.Call == b.Call && a.Kind == b.Kind }
