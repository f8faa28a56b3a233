package check

import (
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"tenure/jepsen/history"
)

// shrinkTime bounds each question to the checker while a history is made smaller, and maxShrinkSteps their number.
const (
	shrinkTime     = 2 * time.Second
	maxShrinkSteps = 2000
)

// RegisterProblems is Registers, with each history that is not linearizable made as small as it gets.
func RegisterProblems(ops []history.Op, timeout time.Duration) Result {
	r := Result{}
	for _, v := range Registers(ops, timeout) {
		r.Keys++
		r.Checked += v.Ops
		switch v.Result {
		case porcupine.Ok:
		case porcupine.Unknown:
			r.Undecided++
			r.add("undecided", "the checker found no answer in "+timeout.String()+" for key "+v.Key)
		default:
			r.add("not linearizable", "no order of these operations on "+v.Key+" explains what was seen",
				Shrink(ofKey(ops, v.Key))...)
		}
	}
	return r
}

func ofKey(ops []history.Op, key string) (out []history.Op) {
	for _, op := range useful(ops) {
		if op.Key == key {
			out = append(out, op)
		}
	}
	return out
}

// Shrink drops operations of one register's history, which is not linearizable, while it stays so. A write goes only
// together with everything that rests on it. Taking such a set out of a good history leaves a good history, so the
// remaining operations fail for a reason of their own.
func Shrink(ops []history.Op) []history.Op {
	fails := func(list []history.Op) bool {
		v := Registers(list, shrinkTime)
		return len(v) == 1 && v[0].Result == porcupine.Illegal
	}
	steps := 0
	for size := max(1, len(ops)/2); size >= 1; size /= 2 {
		for again := true; again; {
			again = false
			for at := 0; at < len(ops) && steps < maxShrinkSteps; at += size {
				steps++
				less := without(ops, at, min(at+size, len(ops)))
				if len(less) < len(ops) && fails(less) {
					ops, again = less, true
				}
			}
		}
	}
	return ops
}

// without returns ops less those from one place to another and all that rest on them.
func without(ops []history.Op, from, to int) []history.Op {
	gone := make([]bool, len(ops))
	for i := from; i < to; i++ {
		gone[i] = true
	}
	for again := true; again; {
		again = false
		for i, op := range ops {
			if !gone[i] && slices.ContainsFunc(indices(gone), func(w int) bool { return rests(op, ops[w]) }) {
				gone[i], again = true, true
			}
		}
	}
	var left []history.Op
	for i, op := range ops {
		if !gone[i] {
			left = append(left, op)
		}
	}
	return left
}

func indices(set []bool) (out []int) {
	for i, in := range set {
		if in {
			out = append(out, i)
		}
	}
	return out
}

// rests reports whether op may be explained only by what w wrote. A refused cas may rest on any write; so may one whose
// base has no known writer.
func rests(op, w history.Op) bool {
	if !w.Writes() || (compares(w) && w.Outcome == history.OK && !w.Matched) {
		return false
	}
	if compares(op) && op.Outcome == history.OK && !op.Matched {
		return true
	}
	if w.Kind == history.Delete {
		return (op.Kind == history.Get && op.Absent) || (op.Kind == history.CAS && op.Index == 0) ||
			(op.Kind == history.Swap && op.From == "")
	}
	switch op.Kind {
	case history.Get:
		return !op.Absent && op.Value == w.Value
	case history.CAS:
		return op.Index != 0 && (op.Index == w.Result || w.Result == 0)
	case history.Swap:
		return op.From == w.Value
	}
	return false
}

// compares reports whether op writes if a condition holds.
func compares(op history.Op) bool { return op.Kind == history.CAS || op.Kind == history.Swap }
