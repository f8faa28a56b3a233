package explore

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// state is a state of the whole system as numbers of interned parts. What stands where is the model's affair.
type state [13]uint32

// model is a system to be searched. Its parts are run by the real code.
type model interface {
	start() state
	explorer() explorer
	base() *common
}

// explorer is one goroutine's access to a model.
type explorer interface {
	// expand calls emit with each action that can be taken in s and leads elsewhere, in an order that depends on s
	// only.
	expand(s *state, emit func(next *state, a action))
	// canonical replaces s by the one state that stands for all that differ from it by a symmetry.
	canonical(s *state) digest
	// broken returns what is wrong with s, "" if nothing.
	broken(s *state) string
}

// action is one step; its fields are the model's.
type action struct {
	kind, who, to, how uint8
	arg                uint32
}

const (
	// shards is fixed, so that the result does not depend on the number of workers.
	shards   = 2
	block    = 1 << 14 // parents expanded between two barriers
	maxIndex = 1<<31 - 1
)

// found is a successor on its way to its shard.
type found struct {
	s      state
	p      digest
	parent uint32
}

// frontier is one shard's states of one level, in order of their numbers from first on.
type frontier struct {
	states []state
	first  int
}

// search is a breadth-first search, level by level: a violation that is found is one of the shortest.
type search struct {
	m         model
	maxStates int
	workers   int
	seen      [shards]*visited
	level     [shards]frontier
	next      [shards]frontier
	boxes     [][shards][]found // by worker
	bad       []badState        // by worker
	explorers []explorer
}

// badState is the first violation a worker met in a block.
type badState struct {
	what   string
	parent uint32
	s      state
}

// outcome is how a search ended.
type outcome struct {
	states, depth int
	bound         string // what stopped it; "" if nothing did
	what          string // the violation
	path          []digest
	last          state
	peak          int
}

func number(shard, i int) uint32 { return uint32(i*shards + shard) }

func (s *search) run(ctx context.Context, progress func(states, depth int)) outcome {
	s.explorers = nil
	for range s.workers {
		s.explorers = append(s.explorers, s.m.explorer())
	}
	s.boxes, s.bad = make([][shards][]found, s.workers), make([]badState, s.workers)
	for i := range s.seen {
		s.seen[i] = newVisited()
	}
	first := s.m.start()
	p := s.explorers[0].canonical(&first)
	s.insert(int(p.hi%shards), []found{{first, p, number(int(p.hi%shards), 0)}})
	if what := s.explorers[0].broken(&first); what != "" {
		return outcome{states: 1, what: what, path: []digest{p}, last: first}
	}
	out := outcome{}
	for {
		size := 0
		for i := range s.level {
			s.level[i], s.next[i] = s.next[i], frontier{first: s.seen[i].n}
			size += len(s.level[i].states)
		}
		out.states, out.peak = s.states(), max(out.peak, size)
		if size == 0 {
			return out
		}
		if bad, bound := s.expandLevel(ctx, func() { progress(s.states(), out.depth) }); bad != nil || bound != "" {
			out.states, out.bound = s.states(), bound
			if bad != nil {
				out.what, out.last, out.path = bad.what, bad.s, s.path(bad)
				out.depth++
			}
			return out
		}
		if s.states() > out.states {
			out.depth++
		}
	}
}

func (s *search) states() int {
	n := 0
	for _, v := range s.seen {
		n += v.n
	}
	return n
}

// expandLevel takes the level block by block: all workers expand, then each shard takes what belongs to it, in the
// order of the parents. So the numbers of states do not depend on the workers' speed.
func (s *search) expandLevel(ctx context.Context, progress func()) (*badState, string) {
	for shard := range s.level {
		f := s.level[shard]
		for begin := 0; begin < len(f.states); begin += block {
			end := min(begin+block, len(f.states))
			s.parallel(s.workers, func(w int) {
				n := end - begin
				s.expandSome(w, shard, begin+n*w/s.workers, begin+n*(w+1)/s.workers)
			})
			for w := range s.bad {
				if s.bad[w].what != "" {
					return &s.bad[w], ""
				}
			}
			s.parallel(shards, func(k int) {
				for w := range s.boxes {
					s.insert(k, s.boxes[w][k])
				}
			})
			progress()
			if ctx.Err() != nil {
				return nil, "interrupted"
			}
			if n := s.states(); n >= s.maxStates || n >= maxIndex {
				return nil, fmt.Sprintf("stopped at %d states", min(s.maxStates, maxIndex))
			}
		}
		s.level[shard].states = nil
	}
	return nil, ""
}

func (s *search) parallel(n int, f func(i int)) {
	if s.workers == 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Add(1)
		go func() { defer wg.Done(); f(i) }()
	}
	wg.Wait()
}

// expandSome fills worker w's boxes with the successors of some states of a shard's level.
func (s *search) expandSome(w, shard, begin, end int) {
	boxes, x := &s.boxes[w], s.explorers[w]
	for k := range boxes {
		boxes[k] = boxes[k][:0]
	}
	s.bad[w] = badState{}
	var parent uint32
	emit := func(next *state, _ action) {
		if s.bad[w].what != "" {
			return
		}
		if what := x.broken(next); what != "" {
			s.bad[w] = badState{what, parent, *next}
			return
		}
		n := *next
		p := x.canonical(&n)
		k := p.hi % shards
		boxes[k] = append(boxes[k], found{n, p, parent})
	}
	for i := begin; i < end && s.bad[w].what == ""; i++ {
		parent = number(shard, s.level[shard].first+i)
		x.expand(&s.level[shard].states[i], emit)
	}
}

func (s *search) insert(shard int, box []found) {
	v, f := s.seen[shard], &s.next[shard]
	for i := range box {
		if _, fresh := v.add(box[i].p, box[i].parent); fresh {
			f.states = append(f.states, box[i].s)
		}
	}
}

// path returns the fingerprints from the start to the parent of a violation.
func (s *search) path(b *badState) []digest {
	var back []digest
	for at := b.parent; ; {
		v := s.seen[at%shards]
		back = append(back, v.at(int(at/shards)))
		next := v.parent(int(at / shards))
		if next == at {
			break
		}
		at = next
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back
}

// pace returns the mean number of states a second.
func pace(states int, d time.Duration) float64 { return float64(states) / max(d.Seconds(), 1e-3) }
