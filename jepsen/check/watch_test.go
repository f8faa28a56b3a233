package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/jepsen/history"
)

// watchStory makes a history of one writer and several watchers, each of which sees the state after every change, or
// after every few.
type watchStory struct {
	random *rand.Rand
	at     time.Duration
	rev    uint64
	state  map[string]history.Entry
	events []history.Entry // all that happened
	serial int
	open   map[int]*history.Op // streams, by client
	ops    []history.Op
}

var watchedPrefixes = map[int]string{1: "watch/", 2: "watch/0/"}

func tellWatch(seed uint64) []history.Op {
	s := &watchStory{random: rand.New(rand.NewPCG(seed, 4)), state: map[string]history.Entry{},
		open: map[int]*history.Op{}}
	for client := range watchedPrefixes {
		s.resume(client, 0)
	}
	for range 60 {
		s.write(s.random.IntN(12), true)
		if s.random.IntN(2) == 0 {
			s.read(3, history.List, "watch/0/")
			s.read(4, history.Get, "watch/0/k1")
		}
		for client := 1; client <= 2; client++ {
			if s.random.IntN(6) == 0 {
				at := s.breakOff(client)
				s.resume(client, at)
			}
		}
	}
	for _, key := range []int{0, 1, 2, 4} {
		s.write(key, false)
	}
	s.read(3, history.List, "watch/0/")
	s.read(4, history.Get, "watch/0/k1")
	s.breakOff(1)
	s.breakOff(2)
	return s.ops
}

// write puts one of the first six keys, deletes one, or prunes.
func (s *watchStory) write(what int, unknown bool) {
	s.serial++
	op := history.Op{Kind: history.Put, Key: fmt.Sprintf("watch/%d/k%d", what%6/3, what%3), Value: fmt.Sprintf("w%d",
		s.serial), Outcome: history.OK, Call: s.at + 1}
	switch {
	case what == 11:
		op.Kind, op.Key, op.Value = history.Prune, "watch/1/", ""
	case what > 7:
		op.Kind, op.Value = history.Delete, ""
	}
	s.at += 20
	op.Return = s.at
	if unknown = unknown && s.random.IntN(15) == 0; unknown {
		op.Outcome, op.Return = history.Info, history.Forever
	}
	if !unknown || s.random.IntN(2) == 0 {
		s.apply(&op)
	}
	if unknown {
		op.Result = 0
	}
	s.ops = append(s.ops, op)
}

func (s *watchStory) apply(op *history.Op) {
	if op.Kind == history.Put {
		s.rev++
		e := history.Entry{Key: op.Key, Value: op.Value, Create: 1, Modify: s.rev}
		s.state[op.Key], op.Result = e, s.rev
		s.events = append(s.events, e)
		return
	}
	var gone []string
	for key := range s.state {
		if covers(*op, key) {
			gone = append(gone, key)
		}
	}
	slices.Sort(gone)
	if len(gone) > 0 {
		s.rev++
	}
	for _, key := range gone {
		delete(s.state, key)
		s.events = append(s.events, history.Entry{Key: key, Modify: s.rev})
	}
	op.Result = s.rev
}

func (s *watchStory) read(client int, kind history.Kind, key string) {
	op := history.Op{Client: client, Kind: kind, Key: key, Mode: "waiting", Outcome: history.OK, Call: s.at + 1,
		Return: s.at + 5}
	s.at += 6
	for _, e := range s.events {
		if e.Key == key || kind == history.List && strings.HasPrefix(e.Key, key) {
			op.Index = e.Modify
		}
	}
	for _, e := range s.state {
		if kind == history.List && strings.HasPrefix(e.Key, key) {
			op.Entries = append(op.Entries, e)
		}
	}
	slices.SortFunc(op.Entries, func(a, b history.Entry) int { return strings.Compare(a.Key, b.Key) })
	if e, there := s.state[key]; there && kind == history.Get {
		op.Value, op.Index = e.Value, e.Modify
	}
	if op.Absent = op.Value == "" && len(op.Entries) == 0; op.Absent {
		op.Index = max(s.rev, 1)
	}
	s.ops = append(s.ops, op)
}

func (s *watchStory) resume(client int, from uint64) {
	s.open[client] = &history.Op{Client: client, Kind: history.Stream, Key: watchedPrefixes[client], Index: from,
		Outcome: history.OK, Call: s.at + 2}
}

// breakOff ends a stream, at the newest change or a few before it.
func (s *watchStory) breakOff(client int) uint64 {
	op := s.open[client]
	op.Return, op.Result = s.at+3, s.rev
	for _, e := range s.events {
		if e.Modify > op.Index && strings.HasPrefix(e.Key, op.Key) {
			op.Entries = append(op.Entries, e)
		}
	}
	s.at += 4
	s.ops = append(s.ops, *op)
	return op.Result
}

func TestGoodWatchersPass(t *testing.T) {
	for seed := range uint64(200) {
		if r := Watch(tellWatch(seed)); len(r.Problems) > 0 || r.Checked < 100 {
			t.Fatalf("seed %d: %d checked: %+v", seed, r.Checked, r.Problems)
		}
	}
}

func TestPlantedWatchFaultsAreFound(t *testing.T) {
	// told is a stream with an event that an acknowledged put made.
	told := func(r *rand.Rand, ops []history.Op) (stream, event int, ok bool) {
		stream, ok = pickOp(r, ops, func(op history.Op) bool {
			return op.Kind == history.Stream &&
				len(op.Entries) > 2
		})
		if !ok {
			return 0, 0, false
		}
		ops[stream].Entries = slices.Clone(ops[stream].Entries)
		for _, event = range r.Perm(len(ops[stream].Entries) - 1) {
			e := ops[stream].Entries[event]
			if slices.ContainsFunc(ops, func(p history.Op) bool {
				return p.Kind == history.Put &&
					p.Outcome == history.OK && p.Value == e.Value
			}) {
				return stream, event, true
			}
		}
		return 0, 0, false
	}
	plantAll(t, "watch", tellWatch, Watch, map[string]planted{
		"a change that a stream leaves out": {"missed", func(r *rand.Rand, ops []history.Op) bool {
			s, e, ok := told(r, ops)
			if ok {
				ops[s].Entries = slices.Delete(ops[s].Entries, e, e+1)
			}
			return ok
		}},
		"a change told twice": {"told twice", func(r *rand.Rand, ops []history.Op) bool {
			s, e, ok := told(r, ops)
			if ok {
				ops[s].Entries = slices.Insert(ops[s].Entries, e, ops[s].Entries[e])
			}
			return ok
		}},
		"two changes exchanged": {"out of order", func(r *rand.Rand, ops []history.Op) bool {
			s, e, ok := told(r, ops)
			if ok = ok && ops[s].Entries[e].Modify < ops[s].Entries[e+1].Modify; ok {
				ops[s].Entries[e], ops[s].Entries[e+1] = ops[s].Entries[e+1], ops[s].Entries[e]
			}
			return ok
		}},
		"a change of before the stream": {"told twice", func(r *rand.Rand, ops []history.Op) bool {
			s, e, ok := told(r, ops)
			if ok {
				ops[s].Index = ops[s].Entries[e].Modify
			}
			return ok
		}},
		"a deletion that nobody asked for": {"from nowhere", func(r *rand.Rand, ops []history.Op) bool {
			s, e, ok := told(r, ops)
			if ok {
				ops[s].Entries[e].Create, ops[s].Entries[e].Value = 0, ""
			}
			return ok
		}},
		"a value of another revision": {"wrong revision", func(r *rand.Rand, ops []history.Op) bool {
			s, e, ok := told(r, ops)
			if ok {
				ops[s].Entries[e].Modify += 1000
			}
			return ok
		}},
		"a list that lacks a key": {"torn", func(r *rand.Rand, ops []history.Op) bool {
			i, ok := pickOp(r, ops, func(op history.Op) bool {
				return op.Kind == history.List && len(op.Entries) > 0 && op.Index > 1 && slices.ContainsFunc(ops,
					func(p history.Op) bool {
						return p.Kind == history.Put && p.Outcome == history.OK && p.Value == op.Entries[0].Value
					}) && !slices.ContainsFunc(ops, func(p history.Op) bool {
					return p.Outcome == history.Info && covers(p,
						op.Entries[0].Key)
				})
			})
			if ok {
				ops[i].Entries = slices.Clone(ops[i].Entries[1:])
			}
			return ok
		}},
		"an index that falls": {"index fell", func(r *rand.Rand, ops []history.Op) bool {
			i, ok := pickOp(r, ops, func(op history.Op) bool {
				return op.Kind == history.Get && op.Index > 1 && slices.ContainsFunc(ops, func(o history.Op) bool {
					return o.Kind == history.Get && o.Return < op.Call && o.Index > 1
				})
			})
			if ok {
				ops[i].Index, ops[i].Absent = 1, true
			}
			return ok
		}},
		"a change that never wakes": {"did not converge", func(r *rand.Rand, ops []history.Op) bool {
			last := 0
			for i, op := range ops {
				if op.Client == 4 {
					last = i
				}
			}
			ops[last].Client = 5
			return ops[last].Kind == history.Get
		}},
		"a stale answer": {"stale", func(r *rand.Rand, ops []history.Op) bool {
			for i, op := range slices.Backward(ops) {
				if op.Kind == history.Get {
					ops[i].Index, ops[i].Absent = 1, true
					return true
				}
			}
			return false
		}},
		"a refused put that shows": {"refused but done", func(r *rand.Rand, ops []history.Op) bool {
			s, e, ok := told(r, ops)
			for i, p := range ops {
				if ok && p.Kind == history.Put && p.Value == ops[s].Entries[e].Value {
					ops[i].Outcome = history.Fail
				}
			}
			return ok
		}},
	})
}
