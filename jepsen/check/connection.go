package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tenure/jepsen/history"
)

// placed gives each acknowledged append the list that it has made: what its client was told is how long that was.
func placed(r *Result, ops []history.Op, longest history.Op) []history.Op {
	out := make([]history.Op, 0, len(ops))
	for _, op := range ops {
		if op.Kind == history.Append && op.Outcome == history.OK {
			word := lastWord(op.Value)
			if op.Size > len(longest.Value) || lastWord(longest.Value[:op.Size]) != word {
				r.add("lost append", fmt.Sprintf("%s is not in the longest list where its client was told, up to byte %d",
					word, op.Size), op, longest)
				op.Outcome, op.Return = history.Info, history.Forever // nothing more is concluded from it
			} else {
				op.Value = longest.Value[:op.Size]
			}
		}
		out = append(out, op)
	}
	return out
}

// inOrder checks that operations of one connection took effect in the order in which they were sent, whatever their
// outcomes. No operation shows a shorter list than an earlier one, and the words stand in the list in the order in
// which they were sent.
func inOrder(r *Result, ops []history.Op, longest history.Op, tried map[string]history.Op) {
	connections, by := groups(ops, func(op history.Op) string { return op.Via })
	for _, via := range connections {
		if via == "" {
			continue
		}
		sent := by[via]
		slices.SortFunc(sent, func(a, b history.Op) int { return cmp.Compare(a.Order, b.Order) })
		var before history.Op
		for _, op := range sent {
			if !shows(op) {
				continue
			}
			if len(op.Value) < len(before.Value) || lengthens(op) && before.Kind != "" && len(op.Value) == len(before.Value) {
				r.add("out of order", fmt.Sprintf("on connection %s operation %d shows less than operation %d", via,
					op.Order, before.Order), before, op, longest)
			}
			before = op
		}
	}
	newest := map[string]history.Op{} // by connection, of the words so far
	for _, w := range strings.Fields(longest.Value) {
		op := tried[w]
		if last := newest[op.Via]; op.Via != "" && op.Order < last.Order {
			r.add("out of order", fmt.Sprintf("on connection %s operation %d took effect after operation %d", op.Via,
				op.Order, last.Order), op, last, longest)
		}
		newest[op.Via] = op
	}
}
