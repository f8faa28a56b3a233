package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tenure/jepsen/history"
)

// lifeStory makes a history of sessions, one after another, each with a key of its own.
type lifeStory struct {
	random *rand.Rand
	at     time.Duration
	rev    uint64
	n      int
	ops    []history.Op
	stream history.Op
}

const lifeStep = 10 * time.Millisecond

func tellLives(seed uint64) []history.Op {
	s := &lifeStory{random: rand.New(rand.NewPCG(seed, 5)), stream: history.Op{Client: 9, Kind: history.Stream,
		Outcome: history.OK}}
	for range 12 {
		s.life()
	}
	s.stream.Return, s.stream.Result = s.at, s.rev
	s.ops = append(s.ops, s.stream)
	return s.ops
}

func (s *lifeStory) do(op history.Op) history.Op {
	op.Outcome, op.Call, op.Return = history.OK, s.at+1, s.at+lifeStep
	s.at += lifeStep
	s.ops = append(s.ops, op)
	return op
}

// change is an event of the stream, at the revision that is the newest now.
func (s *lifeStory) change(key, session string, create uint64) {
	s.stream.Entries = append(s.stream.Entries, history.Entry{Key: key, Session: session, Create: create,
		Modify: s.rev})
}

func (s *lifeStory) create(id string, ttl, delay time.Duration, deletes bool) {
	s.do(history.Op{Kind: history.Create, Extra: history.Extra{Session: id, TTL: ttl, Delay: delay, Deletes: deletes}})
	s.rev++
	s.change("", id, 0)
}

func (s *lifeStory) acquire(key, id string, matched bool) {
	op := history.Op{Kind: history.Acquire, Key: key, Extra: history.Extra{Session: id}, Matched: matched}
	if matched {
		s.rev++
		op.Result = s.rev
		s.change(key, id, 1)
	}
	s.do(op)
}

func (s *lifeStory) life() {
	s.n++
	key, id, other := fmt.Sprintf("session/0/%d", s.n), fmt.Sprintf("s%d", s.n), fmt.Sprintf("o%d", s.n)
	ttl, delay, deletes := 300*time.Millisecond, time.Duration(s.random.IntN(3))*time.Second/2, s.random.IntN(2) == 0
	s.create(id, ttl, delay, deletes)
	s.create(other, time.Minute, 0, false)
	s.acquire(key, id, true)
	for range s.random.IntN(3) {
		s.at += time.Duration(s.random.Int64N(int64(ttl)))
		s.do(history.Op{Kind: history.Renew, Extra: history.Extra{Session: id, TTL: ttl}})
	}
	switch s.random.IntN(3) {
	case 0:
		s.rev++
		s.do(history.Op{Kind: history.Release, Key: key, Matched: true, Result: s.rev,
			Extra: history.Extra{Session: id}})
		s.change(key, "", 1)
		s.acquire(key, other, true)
		return
	case 1:
		s.do(history.Op{Kind: history.Destroy, Extra: history.Extra{Session: id}})
	case 2:
		if s.random.IntN(3) == 0 { // a new master gives it more time
			s.at += ttl
			s.do(history.Op{Client: 8, Kind: history.Master, Result: uint64(s.n)})
		}
		for end := s.at + 2*ttl; s.at < end; {
			s.do(history.Op{Kind: history.SessionInfo, Extra: history.Extra{Session: id}})
			s.do(history.Op{Kind: history.Get, Key: key, Extra: history.Extra{Session: id}})
		}
	}
	s.rev++
	s.change("", id, 0)
	s.change(key, "", map[bool]uint64{false: 1}[deletes])
	if s.random.IntN(2) == 0 {
		s.do(history.Op{Kind: history.SessionInfo, Absent: true, Extra: history.Extra{Session: id}})
	} else {
		s.do(history.Op{Kind: history.Get, Key: key})
	}
	for end := s.at + delay; s.at < end; {
		s.acquire(key, other, false)
	}
	s.acquire(key, other, true)
}

func TestGoodLivesPass(t *testing.T) {
	for seed := range uint64(200) {
		if r := Sessions(tellLives(seed)); len(r.Problems) > 0 || r.Checked < 40 || r.Keys != 24 {
			t.Fatalf("seed %d: %d checked: %+v", seed, r.Checked, r.Problems)
		}
	}
}

func TestPlantedSessionFaultsAreFound(t *testing.T) {
	// lately: the session was created or renewed so shortly before op that it must still live.
	lately := func(ops []history.Op, op history.Op, id string) bool {
		return slices.ContainsFunc(ops, func(b history.Op) bool {
			return (b.Kind == history.Create || b.Kind == history.Renew) && b.Session == id && b.Call < op.Call &&
				b.Call+200*time.Millisecond > op.Return
		})
	}
	gone := func(op history.Op) bool { return op.Kind == history.SessionInfo && op.Absent }
	byRefused := func(ops []history.Op, op history.Op) bool { // refused before, so that a lock-delay ran
		return op.Kind == history.Acquire && op.Matched && slices.ContainsFunc(ops, func(o history.Op) bool {
			return o.Kind == history.Acquire && !o.Matched && o.Key == op.Key && o.Call < op.Call
		})
	}
	event := func(r *rand.Rand, ops []history.Op, f func(before, e history.Entry) bool) (*history.Op, int, bool) {
		s := &ops[len(ops)-1]
		s.Entries = slices.Clone(s.Entries)
		for _, i := range r.Perm(len(s.Entries) - 1) {
			if f(s.Entries[i], s.Entries[i+1]) {
				return s, i + 1, true
			}
		}
		return nil, 0, false
	}
	freed := func(before, e history.Entry) bool {
		return before.Key == "" && e.Key != "" && before.Modify == e.Modify
	}
	plantAll(t, "session", tellLives, Sessions, map[string]planted{
		"seen to be gone too early": {"ended early", func(r *rand.Rand, ops []history.Op) bool {
			i, ok := pickOp(r, ops, func(op history.Op) bool {
				return op.Kind == history.Renew && lately(ops, op,
					op.Session)
			})
			if ok {
				ops[i].Kind, ops[i].Absent = history.SessionInfo, true
			}
			return ok
		}},
		"a lock lost too early": {"ended early", func(r *rand.Rand, ops []history.Op) bool {
			i, ok := pickOp(r, ops, func(op history.Op) bool {
				return op.Kind == history.Get && op.Session != "" && lately(ops, op, op.Session)
			})
			if ok {
				ops[i].Session = ""
			}
			return ok
		}},
		"alive again": {"resurrected", func(r *rand.Rand, ops []history.Op) bool {
			i, ok := pickOp(r, ops, gone)
			if !ok || ops[i+1].Kind != history.Acquire {
				return false
			}
			ops[i+1] = history.Op{Kind: history.SessionInfo, Outcome: history.OK, Call: ops[i+1].Call,
				Return: ops[i+1].Return, Extra: history.Extra{Session: ops[i].Session}}
			return true
		}},
		"one that never ends": {"outlived", func(r *rand.Rand, ops []history.Op) bool {
			i, ok := pickOp(r, ops, gone)
			if ok {
				ops[i].Absent = false
				ops[i].Call += 3 * time.Second
				ops[i].Return += 3 * time.Second
				for j := range ops {
					if ops[j].Kind == history.Master {
						ops[j].Kind = history.List
					}
				}
			}
			return ok
		}},
		"no lock-delay": {"lock-delay cut short", func(r *rand.Rand, ops []history.Op) bool {
			i, ok := pickOp(r, ops, func(op history.Op) bool { return byRefused(ops, op) })
			if ok {
				for j := range ops {
					if ops[j].Kind == history.Acquire && ops[j].Key == ops[i].Key && !ops[j].Matched {
						ops[j].Matched = true
						return true
					}
				}
			}
			return false
		}},
		"an endless lock-delay": {"lock-delay too long", func(r *rand.Rand, ops []history.Op) bool {
			i, ok := pickOp(r, ops, func(op history.Op) bool { return byRefused(ops, op) })
			if ok {
				ops[i].Matched = false
				ops[i].Call += 5 * time.Second
				ops[i].Return += 5 * time.Second
				for j := range ops {
					if ops[j].Kind == history.Master {
						ops[j].Kind = history.List
					}
				}
			}
			return ok
		}},
		"a lock-delay after a release": {"delay after a release", func(r *rand.Rand, ops []history.Op) bool {
			i, ok := pickOp(r, ops, func(op history.Op) bool { return op.Kind == history.Release })
			if ok {
				ops[i+1].Matched = false
			}
			return ok
		}},
		"a lock that is not freed": {"lock outlives session", func(r *rand.Rand, ops []history.Op) bool {
			s, i, ok := event(r, ops, freed)
			if ok {
				s.Entries = slices.Delete(s.Entries, i, i+1)
			}
			return ok
		}},
		"a lock that is freed later": {"lock outlives session", func(r *rand.Rand, ops []history.Op) bool {
			s, i, ok := event(r, ops, freed)
			if ok {
				s.Entries[i].Modify++
			}
			return ok
		}},
		"a key kept that must go": {"wrong behavior", func(r *rand.Rand, ops []history.Op) bool {
			s, i, ok := event(r, ops, freed)
			if ok {
				s.Entries[i].Create = 1 - s.Entries[i].Create
			}
			return ok
		}},
		"locked by the dead": {"locked by the dead", func(r *rand.Rand, ops []history.Op) bool {
			s, i, ok := event(r, ops, freed)
			if ok {
				s.Entries[i].Session = s.Entries[i-1].Session
			}
			return ok
		}},
	})
}
