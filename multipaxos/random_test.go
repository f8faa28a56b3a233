package multipaxos

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// step does one thing that a hostile world can do; op says what.
func (w *world) step(op uint32) {
	n := w.nodes[int(op>>8)%len(w.nodes)]
	arg := int(op >> 12)
	if op&0xff >= 240 && w.calm > 0 && arg%w.calm != 0 {
		op = 0 // deliver instead of making trouble
	}
	if w.cuts > 0 && int(op>>20)%w.cuts == 0 { // cut some links, one way, or all links of a node: their messages wait
		x := uint64(op) * 0x9e3779b97f4a7c15
		if w.cut = (x >> 11) & (x >> 23); op&1 == 0 {
			w.cut = 0x3f<<(n.id*6) | 0x041041041041<<n.id
		}
	}
	switch k := op & 0xff; {
	case k < 110: // deliver, in order or not
		i := 0
		if k >= 60 && len(w.net) > 0 {
			i = arg % len(w.net)
		}
		for ; i < len(w.net); i++ {
			if m := w.net[i]; w.cut>>(m.From*6+m.To)&1 == 0 {
				w.deliver(i, k >= 100)
				return
			}
		}
	case k < 118: // lose
		if len(w.net) > 0 {
			i := arg % len(w.net)
			w.net = append(w.net[:i:i], w.net[i+1:]...)
		}
	case k < 160:
		w.sync(n, 1+arg%3)
	case k < 190:
		if _, ok := n.core.Propose(w.value()); ok {
			w.drain(n)
		}
	case k < 205:
		w.must(n.core.Tick())
		w.drain(n)
	case k < 220:
		w.apply(n)
	case k < 226:
		w.checkpoint(n)
	case k < 234:
		w.startRead(n)
	case k < 240:
		n.core.Connected(w.nodes[arg%len(w.nodes)].id)
		w.drain(n)
	case k < 249:
		if n.core.Preempted() || n.core.Phase() == Following {
			w.lead(n)
		}
	case k < 251:
		w.lead(n)
	case k < 252:
		n.core.Retire()
		w.drain(n)
	default:
		w.crash(n, arg%3)
	}
}

// TestRandomSchedules: under loss, duplication, reordering, crashes and several leaders at once no slot gets two
// values, what was chosen stays, and when the faults stop the cluster goes on.
func TestRandomSchedules(t *testing.T) {
	var slots Slot
	var reads, runs int
	times := 10
	if testing.Short() {
		times = 2
	}
	for range times {
		rapid.Check(t, func(t *rapid.T) {
			w := randomWorld(t)
			slots += w.top
			reads += w.reads
			runs++
		})
	}
	if runs >= 50 && (slots < Slot(runs)*5 || reads < runs/2) {
		t.Errorf("%d runs chose %d slots and confirmed %d reads: too little to have tested anything", runs, slots, reads)
	}
	t.Logf("%d runs, %d slots chosen, %d reads confirmed", runs, slots, reads)
}

// randomWorld runs one drawn schedule to its end.
func randomWorld(t *rapid.T) *world {
	n := rapid.SampledFrom([]int{3, 3, 3, 5, 5, 2, 1, 4}).Draw(t, "nodes")
	cfg := smallConfig()
	cfg.CacheBytes = rapid.SampledFrom([]int{0, 250, 5000}).Draw(t, "cache")
	cfg.KeepEntries = rapid.Uint64Range(0, 3).Draw(t, "keep")
	w := newWorld(t, n, cfg)
	w.calm = rapid.SampledFrom([]int{0, 4, 16, 64}).Draw(t, "calm")
	w.cuts = rapid.SampledFrom([]int{0, 20, 60, 300}).Draw(t, "cuts")
	w.elect(w.nodes[0])
	ops := rapid.SliceOfN(rapid.Uint32(), 0, 100).Draw(t, "ops")
	rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	for range rapid.IntRange(500, 3000).Draw(t, "more") {
		ops = append(ops, rnd.Uint32())
	}
	for _, op := range ops {
		w.step(op)
	}
	w.settle(w.nodes[rapid.IntRange(0, n-1).Draw(t, "leader")])
	return w
}

// TestCloneGoesOnAlike: a clone has the same state, and the same inputs lead both to the same state and output.
func TestCloneGoesOnAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, 3, smallConfig())
		w.elect(w.nodes[0])
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for range rapid.IntRange(0, 500).Draw(t, "ops") {
			w.step(rnd.Uint32())
		}
		n := w.nodes[rapid.IntRange(0, 2).Draw(t, "node")]
		c := n.core.Clone()
		c.Rebind(n.disk.clone())
		for i := range 20 {
			before := n.core.AppendState(nil)
			if got := c.AppendState(nil); !bytes.Equal(got, before) {
				t.Fatalf("after %d inputs the states differ", i)
			}
			for j := range w.net {
				if w.net[j].To == n.id {
					w.must(c.Step(w.net[j]))
					if !bytes.Equal(before, n.core.AppendState(nil)) {
						t.Fatalf("a step of the clone changed its origin")
					}
					w.must(n.core.Step(w.net[j]))
					w.net = append(w.net[:j:j], w.net[j+1:]...)
					break
				}
			}
			w.must(c.Tick())
			w.must(n.core.Tick())
			a, b := c.Take(), n.core.Take()
			if len(a.Messages) != len(b.Messages) || len(a.Persists) != len(b.Persists) || a.Chosen != b.Chosen {
				t.Fatalf("outputs differ")
			}
			for j := range a.Messages {
				if !bytes.Equal(a.Messages[j].AppendState(nil), b.Messages[j].AppendState(nil)) {
					t.Fatalf("message %d differs", j)
				}
			}
		}
	})
}
