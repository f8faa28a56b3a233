package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tenure/jepsen/history"
)

// lockStory makes a history of one lock after another: some holders release it, some pause until their session has
// ended, and then write what they meant to write before.
type lockStory struct {
	random *rand.Rand
	fenced bool
	at     time.Duration
	rev    uint64
	value  string
	index  uint64
	most   uint64 // largest token seen
	serial int
	ops    []history.Op
}

const storyTTL = 1000

func tellLocks(seed uint64, fenced bool, n int) []history.Op {
	s := &lockStory{random: rand.New(rand.NewPCG(seed, 3)), fenced: fenced}
	for s.serial < n {
		s.holder()
	}
	s.guard(0)
	return s.ops
}

// do adds an operation that takes effect while f runs.
func (s *lockStory) do(op history.Op, f func(*history.Op)) history.Op {
	op.Outcome, op.Call = history.OK, s.at+1
	s.at += time.Duration(10 + s.random.IntN(10))
	op.Return = s.at
	if f != nil {
		f(&op)
	}
	s.ops = append(s.ops, op)
	return op
}

func (s *lockStory) holder() {
	s.serial++
	id := fmt.Sprintf("s%d", s.serial)
	client := s.serial % 4
	s.do(history.Op{Client: client, Kind: history.Create, Extra: history.Extra{Session: id, TTL: storyTTL}}, nil)
	a := s.do(history.Op{Client: client, Kind: history.Acquire, Key: "lock/0/lock", Extra: history.Extra{Session: id}},
		func(op *history.Op) {
			s.rev++
			op.Matched, op.Result = true, s.rev
		})
	for range s.random.IntN(4) {
		s.do(history.Op{Client: client, Kind: history.Renew, Extra: history.Extra{Session: id, TTL: storyTTL}}, nil)
		s.guard(client)
		s.put(client, a.Result)
	}
	if s.random.IntN(3) == 0 {
		s.at += 3 * storyTTL
		s.holder()
		s.put(client, a.Result)
		return
	}
	s.do(history.Op{Client: client, Kind: history.Release, Key: "lock/0/lock", Extra: history.Extra{Session: id}},
		func(op *history.Op) {
			s.rev++
			op.Matched, op.Result = true, s.rev
		})
}

func (s *lockStory) guard(client int) {
	if s.index > 0 {
		s.do(history.Op{Client: client, Kind: history.Get, Key: "lock/0/guarded", Value: s.value, Index: s.index}, nil)
	}
}

func (s *lockStory) put(client int, token uint64) {
	s.serial++
	s.do(history.Op{Client: client, Kind: history.Put, Key: "lock/0/guarded", Value: fmt.Sprintf("w%d", s.serial),
		Extra: history.Extra{Token: token}}, func(op *history.Op) {
		switch {
		case s.fenced && token < s.most:
			op.Outcome, op.Fenced, op.Error = history.Fail, true, "fenced"
			return
		case s.random.IntN(10) == 0:
			op.Outcome, op.Return = history.Info, history.Forever
			if s.random.IntN(2) == 0 {
				return
			}
		}
		s.rev++
		s.most = max(s.most, token)
		s.value, s.index = op.Value, s.rev
		if op.Outcome == history.OK {
			op.Result = s.rev
		}
	})
}

func TestGoodLocksPass(t *testing.T) {
	shown := 0
	for seed := range uint64(60) {
		for _, fenced := range []bool{false, true} {
			r := Locks(tellLocks(seed, fenced, 30), fenced)
			if len(r.Problems) > 0 || r.Checked < 20 || fenced && r.Shown > 0 {
				t.Fatalf("seed %d, fenced %v: %+v", seed, fenced, r)
			}
			shown += r.Shown
		}
	}
	if shown < 60 {
		t.Errorf("without fences only %d writes came after those of later holders", shown)
	}
}

func TestPlantedLockFaultsAreFound(t *testing.T) {
	plantAll(t, "lock", func(seed uint64) []history.Op { return tellLocks(seed, true, 30) },
		func(ops []history.Op) Result { return Locks(ops, true) },
		map[string]planted{
			"interleaved": {"interleaved", func(r *rand.Rand, ops []history.Op) bool {
				i, ok := pickOp(r, ops, func(op history.Op) bool { return op.Fenced })
				if ok {
					ops[i].Outcome, ops[i].Fenced, ops[i].Result = history.OK, false, 1<<40
				}
				return ok
			}},
			"held by two": {"two holders", func(r *rand.Rand, ops []history.Op) bool {
				i, ok := pickOp(r, ops, func(op history.Op) bool { // a release that nobody was asked for
					return op.Kind == history.Release && slices.ContainsFunc(ops, func(o history.Op) bool {
						return o.Kind == history.Acquire && o.Call > op.Return && o.Return < op.Call+storyTTL/2
					})
				})
				if ok {
					ops[i].Kind = history.SessionInfo
				}
				return ok
			}},
			"fence that forgot": {"fenced for nothing", func(r *rand.Rand, ops []history.Op) bool {
				i, ok := pickOp(r, ops, func(op history.Op) bool { return op.Fenced })
				if ok {
					ops[i].Token = 1 << 40
				}
				return ok
			}},
			"refused but done": {"refused but done", func(r *rand.Rand, ops []history.Op) bool {
				i, ok := pickOp(r, ops, func(op history.Op) bool { return op.Fenced })
				if ok {
					ops[len(ops)-1].Value = ops[i].Value
				}
				return ok
			}},
			"stale": {"stale", func(r *rand.Rand, ops []history.Op) bool {
				last := len(ops) - 1
				i, ok := pickOp(r, ops, func(op history.Op) bool {
					return op.Kind == history.Get &&
						op.Index < ops[last].Index
				})
				if ok {
					ops[last].Value, ops[last].Index = ops[i].Value, ops[i].Index
				}
				return ok
			}},
		})
}

type planted struct {
	kind  string
	plant func(*rand.Rand, []history.Op) bool // false: this history has no place for it
}

// plantAll plants each fault in many histories: each must be found for what it is, also in the operations that are said
// to show it.
func plantAll(
	t *testing.T, name string, tell func(seed uint64) []history.Op, check func([]history.Op) Result, faults map[string]planted,
) {
	for what, p := range faults {
		n := 0
		for seed := uint64(0); seed < 400 && n < 25; seed++ {
			ops := tell(seed)
			if !p.plant(rand.New(rand.NewPCG(seed, 2)), ops) {
				continue
			}
			n++
			r := check(ops)
			found := slices.IndexFunc(r.Problems, func(q Problem) bool { return q.Kind == p.kind })
			if found < 0 {
				t.Errorf("%s, seed %d: %s was not found, but %d other problems", name, seed, what, len(r.Problems))
				continue
			}
			again := check(r.Problems[found].Ops)
			if !slices.ContainsFunc(again.Problems, func(q Problem) bool { return q.Kind == p.kind }) {
				t.Errorf("%s, seed %d, %s: the witness does not show it: %+v", name, seed, what, r.Problems[found])
			}
		}
		if n < 20 {
			t.Errorf("%s: %s was planted %d times only", name, what, n)
		}
	}
}
