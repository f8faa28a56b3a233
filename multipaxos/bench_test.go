package multipaxos

import "testing"

// BenchmarkProposeToChosen is one entry from Propose to applied on the leader of three, with everything that both
// followers do for it; the disk is free.
func BenchmarkProposeToChosen(b *testing.B) {
	benchmark(b, 1)
}

// BenchmarkPipelined has sixteen entries in flight at once.
func BenchmarkPipelined(b *testing.B) {
	benchmark(b, 16)
}

func benchmark(b *testing.B, batch int) {
	cfg := Config{PageBytes: 1 << 20, WindowEntries: 1024, WindowBytes: 1 << 24, CacheBytes: 1 << 20}
	w := newWorld(b, 3, cfg)
	w.elect(w.nodes[0])
	w.round()
	var net []Message
	cores := []*Core{w.nodes[0].core, w.nodes[1].core, w.nodes[2].core}
	drain := func(c *Core) {
		out := c.Take()
		net = append(net, out.Messages...)
		for _, p := range out.Persists {
			c.Persisted(p.Seq)
		}
		if len(out.Persists) > 0 {
			net = append(net, c.Take().Messages...)
		}
		c.Applied(c.Chosen())
	}
	value := make([]byte, 256)
	b.ReportAllocs()
	b.SetBytes(int64(batch * len(value)))
	for i := 0; b.Loop(); {
		for range batch {
			if _, ok := cores[0].Propose(value); !ok {
				b.Fatal("may not propose")
			}
		}
		drain(cores[0])
		for j := 0; j < len(net); j++ {
			c := cores[net[j].To-1]
			if err := c.Step(net[j]); err != nil {
				b.Fatal(err)
			}
			drain(c)
		}
		net = net[:0]
		if i++; cores[0].Chosen() != cores[0].Last() {
			b.Fatal("not chosen")
		}
	}
}

// BenchmarkAccepted is a vote that completes nothing: it costs the same whatever the log holds.
func BenchmarkAccepted(b *testing.B) {
	cfg := Config{PageBytes: 1 << 20, WindowEntries: 1024, WindowBytes: 1 << 24, CacheBytes: 1 << 20}
	w := newWorld(b, 5, cfg)
	w.elect(w.nodes[0])
	c := w.nodes[0].core
	for range 1000 {
		c.Propose([]byte("x"))
	}
	c.Take()
	m := Message{Kind: KindAccepted, From: 2, To: 1, Ballot: c.Ballot(), Slot: c.Last(), Through: c.Last()}
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Step(m); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTakeEmpty is draining when there is nothing.
func BenchmarkTakeEmpty(b *testing.B) {
	w := newWorld(b, 3, smallConfig())
	b.ReportAllocs()
	for b.Loop() {
		w.nodes[0].core.Take()
	}
}
