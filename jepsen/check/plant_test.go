package check

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tenure/jepsen/history"
)

type suite struct {
	name   string
	check  func([]history.Op) Result
	next   author
	final  history.Op
	ops    int
	plants map[string]func(*rand.Rand, []history.Op) bool // false: this history has no place for it
}

func registers(ops []history.Op) Result { return RegisterProblems(ops, 10*time.Second) }

func suites() []suite {
	type plants = map[string]func(*rand.Rand, []history.Op) bool
	return []suite{
		{"register", registers, registerAuthor, history.Op{Kind: history.Get, Key: "k"}, 100,
			plants{"stale": stale, "lost": lostPut, "duplicate": otherIndex}},
		{"set", Set, setAuthor, history.Op{Kind: history.List, Key: "set/"}, 100,
			plants{"stale": stale, "lost": lostEntry, "duplicate": otherRevision}},
		{"append", Append, grower("k", appended), history.Op{Kind: history.Get, Key: "k"}, 100,
			plants{"stale": stale, "lost": lostWord, "duplicate": doubleWord}},
		{"counter", Counter, grower("k", incremented), history.Op{Kind: history.Get, Key: "k"}, 100,
			plants{"stale": stale, "lost": lostIncrement, "duplicate": doubleIncrement}},
		{"list", Lists, listAuthor, history.Op{Kind: history.List, Key: "list/0/"}, 100,
			plants{"stale": stale, "lost": lostEntry, "duplicate": otherRevision, "torn": torn}},
		{"txn", Txns, txnAuthor, txnRead(0, 1, 2), 100,
			plants{"stale": staleTxn, "lost": lostTxnWord, "duplicate": sameRevision, "torn": tornTxn, "half": halfTxn,
				"undone": undoneTxn, "refusal": refusedForNothing, "revision": otherTxnRevision}},
	}
}

func TestGoodHistoriesPass(t *testing.T) {
	for _, s := range suites() {
		for seed := range uint64(60) {
			r := s.check(tell(seed, s.ops, s.next, s.final))
			if len(r.Problems) > 0 || r.Undecided > 0 || r.Checked < s.ops/2 {
				t.Fatalf("%s, seed %d: %d checked, %d undecided: %+v", s.name, seed, r.Checked, r.Undecided, r.Problems)
			}
		}
	}
}

// TestPlantedFaultsAreFound is the mutation test of the checkers: each fault, in each history that has a place for it.
func TestPlantedFaultsAreFound(t *testing.T) {
	for _, s := range suites() {
		for name, plant := range s.plants {
			planted := 0
			for seed := uint64(0); seed < 400 && planted < 25; seed++ {
				ops := tell(seed, s.ops, s.next, s.final)
				if !plant(rand.New(rand.NewPCG(seed, 2)), ops) {
					continue
				}
				planted++
				r := s.check(ops)
				if len(r.Problems) == 0 {
					t.Errorf("%s, seed %d: %s was not found", s.name, seed, name)
					continue
				}
				again := s.check(r.Problems[0].Ops)
				if !slices.ContainsFunc(again.Problems, func(p Problem) bool { return p.Kind == r.Problems[0].Kind }) {
					t.Errorf("%s, seed %d, %s: the witness does not show it: %s: %+v", s.name, seed, name,
						r.Problems[0].Reason, r.Problems[0].Ops)
				}
			}
			if planted < 20 {
				t.Errorf("%s: %s was planted %d times only", s.name, name, planted)
			}
		}
	}
}

func shown(op history.Op) string { // what a read saw
	var b strings.Builder
	b.WriteString(op.Value)
	for _, e := range op.Entries {
		b.WriteString(e.Key + "=" + e.Value + ";")
	}
	return b.String()
}

// stale makes a read show what an earlier one had seen, although one in between had seen something else.
func stale(r *rand.Rand, ops []history.Op) bool {
	var reads []int
	for i, op := range ops {
		if !op.Writes() && !op.Absent && (op.Kind == history.Get || len(op.Entries) > 0) {
			reads = append(reads, i)
		}
	}
	slices.SortFunc(reads, func(a, b int) int { return int(ops[a].Call - ops[b].Call) })
	r.Shuffle(len(reads)/2, func(i, j int) { reads[i], reads[j] = reads[j], reads[i] })
	for _, a := range reads {
		for _, b := range reads {
			for _, c := range reads {
				if ops[a].Return < ops[b].Call && ops[b].Return < ops[c].Call && shown(ops[a]) != shown(ops[b]) {
					ops[c].Value, ops[c].Index, ops[c].Entries = ops[a].Value, ops[a].Index, ops[a].Entries
					return true
				}
			}
		}
	}
	return false
}

// lostPut makes all reads of an acknowledged put see the value before it, one of them certainly after the put.
func lostPut(_ *rand.Rand, ops []history.Op) bool {
	for _, p := range ops {
		if p.Kind != history.Put || p.Outcome != history.OK {
			continue
		}
		before := slices.IndexFunc(ops, func(o history.Op) bool {
			return o.Kind == history.Get && !o.Absent && o.Value != p.Value && o.Return < p.Call
		})
		after := slices.IndexFunc(ops, func(o history.Op) bool {
			return o.Kind == history.Get && o.Value == p.Value &&
				o.Call > p.Return
		})
		if before < 0 || after < 0 {
			continue
		}
		for i := range ops {
			if ops[i].Kind == history.Get && ops[i].Value == p.Value {
				ops[i].Value, ops[i].Index = ops[before].Value, ops[before].Index
			}
		}
		return true
	}
	return false
}

func otherIndex(_ *rand.Rand, ops []history.Op) bool {
	for i, op := range ops {
		written := slices.ContainsFunc(ops, func(w history.Op) bool {
			return w.Writes() && w.Outcome == history.OK &&
				w.Value == op.Value
		})
		if op.Kind == history.Get && !op.Absent && written {
			ops[i].Index++
			return true
		}
	}
	return false
}

// known is an entry of the last list that an acknowledged put made.
func known(r *rand.Rand, ops []history.Op) (list, entry int, ok bool) {
	list = len(ops) - 1
	for _, entry := range r.Perm(len(ops[list].Entries)) {
		e := ops[list].Entries[entry]
		if slices.ContainsFunc(ops, func(p history.Op) bool {
			return p.Kind == history.Put && p.Outcome == history.OK &&
				p.Value == e.Value
		}) {
			return list, entry, true
		}
	}
	return 0, 0, false
}

func lostEntry(r *rand.Rand, ops []history.Op) bool {
	l, e, ok := known(r, ops)
	if !ok {
		return false
	}
	ops[l].Entries = slices.Delete(slices.Clone(ops[l].Entries), e, e+1)
	return true
}

func otherRevision(r *rand.Rand, ops []history.Op) bool {
	l, e, ok := known(r, ops)
	if !ok {
		return false
	}
	ops[l].Entries[e].Modify++
	return true
}

// torn makes one entry of a list an older one: the list is then of no one revision.
func torn(r *rand.Rand, ops []history.Op) bool {
	l, e, ok := known(r, ops)
	if !ok {
		return false
	}
	now := ops[l].Entries[e]
	for _, p := range ops {
		if p.Kind == history.Put && p.Outcome == history.OK && p.Key == now.Key && p.Result < now.Modify {
			ops[l].Entries[e].Value, ops[l].Entries[e].Modify = p.Value, p.Result
			return true
		}
	}
	return false
}

// lostWord takes the word of an acknowledged append out of everything that was read.
func lostWord(r *rand.Rand, ops []history.Op) bool {
	for _, i := range r.Perm(len(ops)) {
		op := ops[i]
		if op.Kind != history.CAS || !op.Matched || op.Outcome != history.OK {
			continue
		}
		words := strings.Fields(op.Value)
		lost := words[len(words)-1]
		for j := range ops {
			if ops[j].Kind == history.Get {
				ops[j].Value = strings.Join(slices.DeleteFunc(strings.Fields(ops[j].Value),
					func(w string) bool { return w == lost }), " ")
			}
		}
		return true
	}
	return false
}

func doubleWord(r *rand.Rand, ops []history.Op) bool {
	last := &ops[len(ops)-1]
	words := strings.Fields(last.Value)
	last.Value += " " + words[r.IntN(len(words))]
	return true
}

// lostIncrement makes all reads one smaller that came after an acknowledged increment.
func lostIncrement(r *rand.Rand, ops []history.Op) bool { return shift(r, ops, -1) }

func doubleIncrement(r *rand.Rand, ops []history.Op) bool {
	if slices.ContainsFunc(ops, func(o history.Op) bool { return o.Outcome == history.Info }) {
		return false // one more may be one that is unknown
	}
	return shift(r, ops, +1)
}

func shift(_ *rand.Rand, ops []history.Op, by int) bool {
	last := &ops[len(ops)-1]
	for _, op := range ops {
		if op.Kind == history.CAS && op.Matched && op.Outcome == history.OK && op.Value == last.Value {
			n, _ := strconv.Atoi(last.Value)
			last.Value = strconv.Itoa(n + by)
			return true
		}
	}
	return false
}

func TestUndecidedIsNoPass(t *testing.T) {
	var ops []history.Op
	for i := range 40 { // concurrent writes of unknown outcome, and a read that none of them explains
		v := strconv.Itoa(i)
		ops = append(ops, unknown(put(i, v, 0, 0, 0)))
	}
	for i := range 20 {
		ops = append(ops, get(50+i, strconv.Itoa(i), 0, ms, 100*ms))
	}
	ops = append(ops, get(99, "x", 1, 200*ms, 300*ms))
	if r := RegisterProblems(ops, time.Millisecond); r.Undecided+len(r.Problems) == 0 {
		t.Fatalf("%+v", r)
	}
}

// TestShrinkKeepsTheReason: of a hundred operations only the few remain that cannot be ordered.
func TestShrinkKeepsTheReason(t *testing.T) {
	for seed := range uint64(10) {
		ops := tell(seed, 100, registerAuthor, history.Op{Kind: history.Get, Key: "k"})
		if !stale(rand.New(rand.NewPCG(seed, 2)), ops) {
			continue
		}
		r := registers(ops)
		small := r.Problems[0].Ops
		if len(small) > 8 {
			t.Errorf("seed %d: %d operations are left of %d: %v", seed, len(small), len(ops), small)
		}
		for _, op := range small {
			if op.Kind == history.Get && !op.Absent && !slices.ContainsFunc(small,
				func(w history.Op) bool { return w.Writes() && w.Value == op.Value }) {
				t.Errorf("seed %d: a read was left without its write: %v", seed, small)
			}
		}
	}
}
