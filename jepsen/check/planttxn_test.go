package check

import (
	"math/rand/v2"
	"slices"
	"strings"

	"tenure/jepsen/history"
)

// pickOp is a random operation for which f is true.
func pickOp(r *rand.Rand, ops []history.Op, f func(history.Op) bool) (int, bool) {
	for _, i := range r.Perm(len(ops)) {
		if f(ops[i]) {
			return i, true
		}
	}
	return 0, false
}

func readsTxn(op history.Op) bool { return op.Kind == history.Txn && !op.Writes() }

func doneTxn(op history.Op) bool { return op.Kind == history.Txn && op.Done() }

// staleTxn makes a transaction show all of what an earlier one had read, although one in between had seen something
// else.
func staleTxn(r *rand.Rand, ops []history.Op) bool {
	c, ok := pickOp(r, ops, func(c history.Op) bool {
		return readsTxn(c) && slices.ContainsFunc(ops, func(b history.Op) bool {
			return readsTxn(b) && b.Return < c.Call && slices.ContainsFunc(ops, func(a history.Op) bool {
				return readsTxn(a) && a.Return < b.Call && a.Result < b.Result && a.Key == c.Key &&
					slices.Equal(a.Parts, c.Parts)
			})
		})
	})
	if !ok {
		return false
	}
	for _, a := range ops {
		if readsTxn(a) && a.Return < ops[c].Call && slices.Equal(a.Parts, ops[c].Parts) {
			for _, b := range ops {
				if readsTxn(b) && a.Return < b.Call && b.Return < ops[c].Call && a.Result < b.Result {
					ops[c].Entries, ops[c].Result = slices.Clone(a.Entries), a.Result
					return true
				}
			}
		}
	}
	return false
}

// lostTxnWord takes the word of an acknowledged transaction out of everything that was read.
func lostTxnWord(r *rand.Rand, ops []history.Op) bool {
	i, ok := pickOp(r, ops, doneTxn)
	if !ok {
		return false
	}
	lost := txnWord(ops[i])
	found := false
	for j := range ops {
		ops[j].Entries = slices.Clone(ops[j].Entries)
		for k, e := range ops[j].Entries {
			words := strings.Fields(e.Value)
			left := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == lost })
			if len(left) < len(words) && readsTxn(ops[j]) {
				ops[j].Entries[k].Value, found = strings.Join(left, " "), true
			}
		}
	}
	return found
}

// sameRevision gives two acknowledged transactions one revision.
func sameRevision(r *rand.Rand, ops []history.Op) bool {
	i, ok := pickOp(r, ops, doneTxn)
	j, also := pickOp(r, ops, func(op history.Op) bool { return doneTxn(op) && !same(op, ops[i]) })
	if ok && also {
		ops[j].Result = ops[i].Result
	}
	return ok && also
}

// tornTxn makes one key of a read older than the others.
func tornTxn(r *rand.Rand, ops []history.Op) bool {
	for _, i := range r.Perm(len(ops)) {
		if !readsTxn(ops[i]) {
			continue
		}
		for k, e := range ops[i].Entries {
			for _, w := range ops {
				if !doneTxn(w) || w.Result >= e.Modify {
					continue
				}
				for _, p := range w.Parts {
					if p.Writes() && p.Key == e.Key {
						ops[i].Entries = slices.Clone(ops[i].Entries)
						ops[i].Entries[k].Value, ops[i].Entries[k].Modify = p.Value, w.Result
						return true
					}
				}
			}
		}
	}
	return false
}

// halfTxn has one of the writes of an acknowledged transaction not done: those who read that key see the value before.
func halfTxn(r *rand.Rand, ops []history.Op) bool {
	for _, i := range r.Perm(len(ops)) {
		if !doneTxn(ops[i]) {
			continue
		}
		p := ops[i].Parts[0]
		found := false
		for j := range ops {
			for k, e := range ops[j].Entries {
				if readsTxn(ops[j]) && e.Key == p.Key && e.Value == p.Value {
					ops[j].Entries = slices.Clone(ops[j].Entries)
					ops[j].Entries[k].Value, ops[j].Entries[k].Modify = strings.TrimSuffix(strings.TrimSuffix(p.Value,
						txnWord(ops[i])), " "), p.Index
					found = true
				}
			}
		}
		if found {
			return true
		}
	}
	return false
}

// undoneTxn lets what a refused transaction wrote before it failed show.
func undoneTxn(r *rand.Rand, ops []history.Op) bool {
	i, ok := pickOp(r, ops, func(op history.Op) bool {
		return op.Kind == history.Txn && op.Outcome == history.OK &&
			!op.Matched
	})
	last := len(ops) - 1
	if !ok {
		return false
	}
	for k, e := range ops[last].Entries {
		if e.Key == ops[i].Parts[0].Key {
			ops[last].Entries[k].Value += " " + txnWord(ops[i])
			return true
		}
	}
	return false
}

// refusedForNothing takes the one condition that did not hold out of a refused transaction.
func refusedForNothing(r *rand.Rand, ops []history.Op) bool {
	if slices.ContainsFunc(ops, func(op history.Op) bool { return op.Outcome == history.Info }) {
		return false // what was there is not known
	}
	held := func(op history.Op, p history.Part) bool {
		at := uint64(0)
		for _, w := range ops {
			if doneTxn(w) && w.Result <= op.Result && slices.ContainsFunc(w.Parts,
				func(o history.Part) bool { return o.Writes() && o.Key == p.Key }) {
				at = max(at, w.Result)
			}
		}
		return p.Index == at
	}
	i, ok := pickOp(r, ops, func(op history.Op) bool {
		last := len(op.Parts) - 1
		return op.Kind == history.Txn && !op.Matched && op.Result > 0 && op.Parts[last].Verb == "check-index" &&
			!slices.ContainsFunc(op.Parts[:last], func(p history.Part) bool { return !held(op, p) })
	})
	if ok {
		ops[i].Parts = ops[i].Parts[:len(ops[i].Parts)-1]
	}
	return ok
}

// otherTxnRevision tells one write of a transaction to be at another revision.
func otherTxnRevision(r *rand.Rand, ops []history.Op) bool {
	i, ok := pickOp(r, ops, doneTxn)
	if ok {
		ops[i].Entries = slices.Clone(ops[i].Entries)
		ops[i].Entries[0].Modify++
	}
	return ok
}
