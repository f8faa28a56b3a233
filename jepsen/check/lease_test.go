package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tenure/jepsen/history"
)

// leaseStory makes a history of one owner of a lease after another. Some release it; some leave it to its end; some
// pause until it has ended, and then write what they meant to write before.
type leaseStory struct {
	lockStory
	token uint64 // largest granted
	free  time.Duration
}

const (
	leaseStoryTTL     = 1000
	leaseStoryExclude = 1100 // D_A
)

func tellLeases(seed uint64, fenced bool, n int) []history.Op {
	s := &leaseStory{lockStory: lockStory{random: rand.New(rand.NewPCG(seed, 5)), fenced: fenced}}
	for s.serial < n {
		s.owner()
	}
	s.look(0)
	return s.ops
}

func (s *leaseStory) ask(client int, kind history.Kind, id string, f func(*history.Op)) history.Op {
	return s.do(history.Op{Client: client, Kind: kind, Key: "leased/0/lease", Extra: history.Extra{Acquisition: id,
		TTL: leaseStoryTTL}}, f)
}

// grant answers with a token: the largest so far, or one above it if it must be, and now and then of a new era.
func (s *leaseStory) grant(above bool) func(*history.Op) {
	return func(op *history.Op) {
		if above {
			s.token++
		}
		if s.random.IntN(8) == 0 {
			s.token = (s.token>>32+1)<<32 + 1
		}
		op.Matched, op.Token = true, s.token
		s.free = op.Return + leaseStoryExclude
	}
}

func (s *leaseStory) owner() {
	s.serial++
	id := fmt.Sprintf("a%d", s.serial)
	client := s.serial % 4
	s.ask(client, history.LeaseAcquire, id, s.grant(true))
	mine := s.token
	for range s.random.IntN(4) {
		switch s.random.IntN(5) {
		case 0: // a renewal whose answer is lost, and which may have been granted with a larger token
			s.ask(client, history.LeaseRenew, id, func(op *history.Op) {
				s.grant(false)(op)
				op.Token, op.Outcome, op.Return = 0, history.Info, history.Forever
			})
		default:
			s.ask(client, history.LeaseRenew, id, s.grant(s.random.IntN(5) == 0))
			mine = s.token
		}
		s.ask(client+4, history.LeaseAcquire, fmt.Sprintf("b%d", s.serial), nil) // somebody else owns
		s.look(client)
		s.write(client, mine)
	}
	switch s.random.IntN(4) {
	case 0:
		s.wait()
		s.owner()
		s.write(client, mine)
	case 1:
		s.wait()
		if s.random.IntN(2) == 0 {
			s.ask(client, history.LeaseRenew, id, func(op *history.Op) { op.Absent = true })
		}
	default:
		s.ask(client, history.LeaseRelease, id, nil)
	}
}

// wait passes the time until nothing stands in the way of another owner.
func (s *leaseStory) wait() { s.at = max(s.at, s.free) }

func (s *leaseStory) look(client int) { s.guard(client); s.rename() }

func (s *leaseStory) write(client int, token uint64) { s.put(client, token); s.rename() }

// rename has what the story of locks wrote last be of a lease.
func (s *leaseStory) rename() {
	if op := &s.ops[len(s.ops)-1]; op.Key == "lock/0/guarded" {
		op.Key = "leased/0/guarded"
	}
}

func leasesFenced(ops []history.Op) Result { return Leases(ops, true) }

func TestGoodLeasesPass(t *testing.T) {
	shown, counts := 0, map[string]int{}
	for seed := range uint64(60) {
		for _, fenced := range []bool{false, true} {
			r := Leases(tellLeases(seed, fenced, 30), fenced)
			if len(r.Problems) > 0 || r.Checked < 20 || fenced && r.Shown > 0 {
				t.Fatalf("seed %d, fenced %v: %+v", seed, fenced, r)
			}
			shown += r.Shown
			for name, n := range r.Counts {
				counts[name] += n
			}
		}
	}
	if shown < 60 {
		t.Errorf("without fences only %d writes came after those of later owners", shown)
	}
	for _, name := range []string{Acquisitions, Successions, Contended, Refused, Renewals, Outlived} {
		if counts[name] < 100 {
			t.Errorf("%s: only %d were counted", name, counts[name])
		}
	}
}

func TestPlantedLeaseFaultsAreFound(t *testing.T) {
	grant := func(op history.Op) bool { return op.Grants() }
	// before is the last grant before ops[i], of this acquisition or of another one.
	before := func(ops []history.Op, i int, same bool) int {
		for j := i - 1; j >= 0; j-- {
			if ops[j].Grants() {
				if same == (ops[j].Acquisition == ops[i].Acquisition) {
					return j
				}
				return -1
			}
		}
		return -1
	}
	plantAll(t, "lease", func(seed uint64) []history.Op { return tellLeases(seed, true, 30) }, leasesFenced,
		map[string]planted{
			"interleaved": {"interleaved", func(r *rand.Rand, ops []history.Op) bool {
				i, ok := pickOp(r, ops, func(op history.Op) bool { return op.Fenced })
				if ok {
					ops[i].Outcome, ops[i].Fenced, ops[i].Result = history.OK, false, 1<<40
				}
				return ok
			}},
			"owned by two": {"two owners", func(r *rand.Rand, ops []history.Op) bool {
				i, ok := pickOp(r, ops, func(op history.Op) bool { // a release that nobody was asked for
					return op.Kind == history.LeaseRelease && slices.ContainsFunc(ops, func(o history.Op) bool {
						return o.Kind == history.LeaseAcquire && o.Matched && o.Call > op.Return &&
							o.Return < op.Call+leaseStoryTTL/2
					})
				})
				if ok {
					ops[i].Kind = history.SessionInfo
				}
				return ok
			}},
			"granted too early": {"two owners", func(r *rand.Rand, ops []history.Op) bool {
				i, ok := pickOp(r, ops,
					func(op history.Op) bool { // the owner before has not released, and his time is not over
						return op.Kind == history.LeaseRenew && op.Matched && op.Outcome == history.OK
					})
				if ok {
					ops[i].Kind, ops[i].Acquisition, ops[i].Client = history.LeaseAcquire, "x", 9
				}
				return ok
			}},
			"owned for longer": {"two owners", func(r *rand.Rand, ops []history.Op) bool {
				i, ok := pickOp(r, ops, func(op history.Op) bool {
					if !op.Grants() {
						return false
					}
					released := slices.ContainsFunc(ops, func(o history.Op) bool {
						return o.Kind == history.LeaseRelease &&
							o.Acquisition == op.Acquisition
					})
					next := slices.ContainsFunc(ops, func(o history.Op) bool {
						return o.Kind == history.LeaseAcquire && o.Matched && o.Acquisition != op.Acquisition &&
							o.Call > op.Return && o.Return < op.Call+3*leaseStoryTTL
					})
					return !released && next
				})
				if ok {
					ops[i].TTL = 3 * leaseStoryTTL
				}
				return ok
			}},
			"older token": {"older token", func(r *rand.Rand, ops []history.Op) bool {
				for _, i := range r.Perm(len(ops)) {
					if j := before(ops, i, false); grant(ops[i]) && j >= 0 && ops[j].Token > 1 {
						ops[i].Token = ops[j].Token - 1
						return true
					}
				}
				return false
			}},
			"token twice": {"token twice", func(r *rand.Rand, ops []history.Op) bool {
				for _, i := range r.Perm(len(ops)) {
					if j := before(ops, i, false); grant(ops[i]) && j >= 0 {
						ops[i].Token = ops[j].Token
						return true
					}
				}
				return false
			}},
			"token fell": {"token fell", func(r *rand.Rand, ops []history.Op) bool {
				for _, i := range r.Perm(len(ops)) {
					if j := before(ops, i, true); grant(ops[i]) && j >= 0 && ops[j].Token > 1 {
						ops[i].Token = ops[j].Token - 1
						return true
					}
				}
				return false
			}},
			"lost while held": {"lost while held", func(r *rand.Rand, ops []history.Op) bool {
				i, ok := pickOp(r, ops, func(op history.Op) bool {
					return op.Kind == history.LeaseRenew && op.Matched && op.Outcome == history.OK
				})
				if ok {
					ops[i].Absent, ops[i].Matched, ops[i].Token = true, false, 0
				}
				return ok
			}},
		})
}

// TestOwnershipIsWhatTheClientKnew: the ends of ownerships, to the nanosecond.
func TestOwnershipIsWhatTheClientKnew(t *testing.T) {
	op := func(kind history.Kind, id string, call, ret time.Duration, change func(*history.Op)) history.Op {
		o := history.Op{Kind: kind, Key: "leased/0/lease", Outcome: history.OK, Call: call, Return: ret, Matched: true,
			Extra: history.Extra{Acquisition: id, TTL: 100, Token: uint64(call + 1)}}
		if change != nil {
			change(&o)
		}
		return o
	}
	acquire, renew, release := history.LeaseAcquire, history.LeaseRenew, history.LeaseRelease
	for _, c := range []struct {
		name string
		ops  []history.Op
		two  bool
	}{
		{"the next at the deadline", []history.Op{op(acquire, "a", 10, 20, nil), op(acquire, "b", 50, 110, nil)},
			false},
		{"the next just before it", []history.Op{op(acquire, "a", 10, 20, nil), op(acquire, "b", 50, 109, nil)}, true},
		{"a renewal extends", []history.Op{op(acquire, "a", 10, 20, nil), op(renew, "a", 60, 70, nil), op(acquire, "b",
			100, 159, nil)}, true},
		{"a renewal that comes too late does not", []history.Op{op(acquire, "a", 10, 20, nil), op(renew, "a", 60, 110,
			nil), op(acquire, "b", 100, 111, nil)}, false},
		{"nor one of unknown outcome", []history.Op{op(acquire, "a", 10, 20, nil), op(renew, "a", 60, 70,
			func(o *history.Op) { o.Outcome = history.Info }),
			op(acquire, "b", 100, 111, nil)}, false},
		{"a release ends it when it is called", []history.Op{op(acquire, "a", 10, 20, nil), op(release, "a", 30, 90,
			nil), op(acquire, "b", 31, 32, nil)}, false},
		{"and not before", []history.Op{op(acquire, "a", 10, 20, nil), op(release, "a", 33, 90, nil), op(acquire, "b",
			31, 32, nil)}, true},
		{"a grant that took longer than it lasts is none", []history.Op{op(acquire, "a", 10, 110, nil), op(acquire, "b",
			100, 111, nil)}, false},
	} {
		r := Leases(c.ops, true)
		if got := slices.ContainsFunc(r.Problems,
			func(p Problem) bool { return p.Kind == "two owners" }); got != c.two {
			t.Errorf("%s: two owners is %v: %+v", c.name, got, r.Problems)
		}
	}
	gone := func(o *history.Op) { o.Absent, o.Matched, o.Token = true, false, 0 }
	for sent, lost := range map[time.Duration]bool{79: false, 81: true} {
		r := Leases([]history.Op{op(acquire, "a", 10, 20, nil), op(renew, "a", 60, 80, nil),
			op(renew, "a", sent, 90, gone)}, true)
		if got := slices.ContainsFunc(r.Problems,
			func(p Problem) bool { return p.Kind == "lost while held" }); got != lost {
			t.Errorf("a renewal sent at %d is told that the lease is gone, one was granted at 80: lost while held is %v",
				sent, got)
		}
	}
}
