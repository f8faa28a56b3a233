package multipaxos

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
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
	case k < 175:
		w.change(n, w.nodes[arg%len(w.nodes)].id)
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
	case k < 236:
		n.core.SetPrompt(w.someOf(arg))
	case k < 237:
		n.core.Hurry()
		w.drain(n)
	case k < 240:
		n.core.Connected(w.nodes[arg%len(w.nodes)].id)
		w.drain(n)
	case k < 249:
		if n.core.Preempted() || n.core.Phase() == Following {
			w.lead(n)
		}
	case k < 250:
		w.lead(n)
	case k < 251:
		n.core.Retire()
		w.drain(n)
	case k < 252:
		w.install(n)
	default:
		w.crash(n, arg%3)
	}
}

// someOf returns some nodes, one for each bit of which; none at times.
func (w *world) someOf(which int) (some quorum.Set) {
	for i, n := range w.nodes[:min(len(w.nodes), quorum.MaxVoters)] {
		if which>>i&1 == 1 {
			some.Add(n.id)
		}
	}
	return some
}

// change makes a leader propose that a node comes or goes: a stranger becomes a non-voter, a non-voter that has caught
// up a voter, and a voter a stranger.
func (w *world) change(n *node, id ballot.NodeID) {
	m := n.core.Membership()
	if at := slices.Index(m.NonVoters, id); at >= 0 {
		if d := w.nodes[id-1]; max(d.disk.chosen, d.stateDB) < m.Slot {
			return
		}
		m.NonVoters = slices.Delete(slices.Clone(m.NonVoters), at, at+1)
		m.Voters.Add(id)
		m.Number++
	} else if !m.Voters.Has(id) {
		m.NonVoters = slices.Sorted(slices.Values(append(slices.Clone(m.NonVoters), id)))
	} else if m.Number++; m.Voters.Len() > 1 {
		m.Voters = quorum.Of(slices.DeleteFunc(m.Voters.IDs(), func(v ballot.NodeID) bool { return v == id })...)
	} else {
		return
	}
	if _, ok := n.core.ProposeMembership([]byte(membershipValue(m))); ok {
		w.drain(n)
	}
}

// TestRandomSchedules: under loss, duplication, reordering, crashes and several leaders at once no slot gets two
// values, what was chosen stays, and when the faults stop the cluster goes on.
func TestRandomSchedules(t *testing.T) {
	var slots Slot
	var reads, changes, copies, runs int
	times := 10
	if testing.Short() {
		times = 2
	}
	for range times {
		rapid.Check(t, func(t *rapid.T) {
			w := randomWorld(t)
			slots += w.top
			reads += w.reads
			changes += w.changes
			copies += w.copies
			runs++
		})
	}
	if runs >= 50 && (slots < Slot(runs)*5 || reads < runs/2 || changes < runs/2 || copies < runs/20) {
		t.Errorf("too little to have tested anything")
	}
	t.Logf("%d runs, %d slots chosen, %d reads confirmed, %d changes, %d snapshots", runs, slots, reads, changes, copies)
}

// randomWorld runs one drawn schedule to its end.
func randomWorld(t *rapid.T) *world {
	n := rapid.SampledFrom([]int{3, 3, 3, 5, 5, 2, 1, 4}).Draw(t, "nodes")
	cfg := smallConfig()
	cfg.CacheBytes = rapid.SampledFrom([]int{0, 250, 5000}).Draw(t, "cache")
	cfg.KeepEntries = rapid.SampledFrom([]uint64{0, 1, 3, 20, 1000}).Draw(t, "keep")
	cfg.KeepBytes = rapid.SampledFrom([]int{0, 300, 3000}).Draw(t, "keep bytes")
	w := newWorldOf(t, min(n, rapid.IntRange(1, 5).Draw(t, "founders")), n, cfg)
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
	w.cut = 0
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
		c := n.core.Clone(n.disk.clone())
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
