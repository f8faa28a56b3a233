package check

import (
	"fmt"
	"strings"

	"tenure/jepsen/history"
)

// Append checks lists that clients grow: a value is the list's elements with blanks between them, each a word that
// nobody else ever appends. A cas or a swap writes the list that its client had read with one word more. An append adds
// a blank and a word to the current list, and its answer tells the new length. What one connection sends is done in
// that order. Every read must be a beginning of the longest one, and the lists read and written must grow in the order
// of time. Together with each acknowledged cas being in the longest list at its place, that is linearizability.
func Append(ops []history.Op) Result {
	r := Result{}
	names, by := groups(ops, func(op history.Op) string { return op.Key })
	for _, n := range names {
		r.merge(appendKey(by[n]))
	}
	return r
}

func appendKey(all []history.Op) Result {
	r := Result{Keys: 1}
	longest := history.Op{}
	for _, op := range all {
		if op.Outcome == history.OK && op.Kind == history.Get && len(op.Value) >= len(longest.Value) {
			longest = op
		}
	}
	all = placed(&r, all, longest)
	ops := useful(all)
	r.Checked = len(ops)
	tried := map[string]history.Op{} // by element
	for _, op := range all {
		if lengthens(op) {
			tried[lastWord(op.Value)] = op
		}
	}
	elements(&r, longest, tried)
	for _, op := range ops {
		if !shows(op) || isBeginning(op.Value, longest.Value) {
			continue
		}
		if lengthens(op) {
			r.add("lost append", "an acknowledged append is not in the longest list at its place", op, longest)
		} else {
			r.add("fork", "two reads saw lists of which neither is the beginning of the other", op, longest)
		}
	}
	grows(&r, ops)
	inOrder(&r, ops, longest, tried)
	futures(&r, ops, longest, tried)
	return r
}

// shows reports whether the list in the op's Value was certainly the state at some time between call and return.
func shows(op history.Op) bool {
	return op.Outcome == history.OK && (op.Kind == history.Get || (lengthens(op) && op.Done()))
}

// lengthens reports whether op makes a list longer, or a number larger, if it is done.
func lengthens(op history.Op) bool {
	switch op.Kind {
	case history.CAS, history.Swap, history.Incr, history.Append:
		return true
	}
	return false
}

// elements checks that each element of the longest list is there once and was appended by somebody.
func elements(r *Result, longest history.Op, tried map[string]history.Op) {
	seen := map[string]bool{}
	for _, w := range strings.Fields(longest.Value) {
		op, ok := tried[w]
		switch {
		case seen[w]:
			r.add("duplicate", fmt.Sprintf("%s is in the list twice", w), op, longest)
		case !ok:
			r.add("from nowhere", fmt.Sprintf("nobody appended %s", w), longest)
		case op.Outcome == history.Fail || (op.Outcome == history.OK && !op.Done()):
			r.add("refused but done",
				fmt.Sprintf("%s is in the list although its client was told that it was not applied", w), op, longest)
		}
		seen[w] = true
	}
}

// grows checks that no list is shorter than one shown before it.
func grows(r *Result, ops []history.Op) {
	var shown []history.Op
	for _, op := range ops {
		if shows(op) {
			shown = append(shown, op)
		}
	}
	most := history.Op{Value: ""}
	earlier(shown, shown, func(op history.Op) {
		if len(op.Value) >= len(most.Value) {
			most = op
		}
	}, func(op history.Op) {
		short := len(op.Value) < len(most.Value)
		if lengthens(op) && most.Kind != "" {
			short = len(op.Value) <= len(most.Value) // it has written a list that was not there before
		}
		if short {
			r.add("stale", fmt.Sprintf("a list of %d elements after one of %d had been seen",
				len(strings.Fields(op.Value)), len(strings.Fields(most.Value))), most, op)
		}
	})
}

// futures checks that no list shows an element before somebody began to append it.
func futures(r *Result, ops []history.Op, longest history.Op, tried map[string]history.Op) {
	words := strings.Fields(longest.Value)
	// latest[i] is the last begun of the first i+1 elements' appends.
	latest := make([]history.Op, len(words))
	for i, w := range words {
		latest[i] = tried[w]
		if i > 0 && latest[i-1].Call > latest[i].Call {
			latest[i] = latest[i-1]
		}
	}
	for _, op := range ops {
		n := len(strings.Fields(op.Value))
		if shows(op) && n > 0 && n <= len(words) && latest[n-1].Call > op.Return {
			r.add("from the future", "a list shows an element before its append began", latest[n-1], op)
		}
	}
}

// isBeginning reports whether the words of a are the first words of b.
func isBeginning(a, b string) bool {
	return strings.HasPrefix(b, a) && (len(a) == len(b) || a == "" || b[len(a)] == ' ')
}
