package multipaxos

// backlog is what the disk owes: entries stored here whose Persist is not durable yet. They are all in memory, so a
// stalled disk must stop whatever would add to them without limit: new proposals, and catching up from others. What
// peers propose is bounded by them, because this node's votes stay away.
type backlog struct {
	slots, bytes int
	taken        ring[owed]
	open         owed // of the Persist being gathered
}

// owed is what one Persist carries.
type owed struct {
	seq          uint64
	slots, bytes int
}

func (b *backlog) add(bytes int) {
	b.open.slots++
	b.open.bytes += bytes
	b.slots++
	b.bytes += bytes
}

func (b *backlog) take(seq uint64) {
	if b.open.slots > 0 {
		b.open.seq = seq
		b.taken.push(b.open)
		b.open = owed{}
	}
}

func (b *backlog) done(seq uint64) {
	for b.taken.len() > 0 && b.taken.at(0).seq <= seq {
		o := b.taken.pop()
		b.slots -= o.slots
		b.bytes -= o.bytes
	}
}

// flooded tells that the disk must catch up first.
func (c *Core) flooded() bool {
	return c.owes.slots >= 4*c.cfg.WindowEntries || c.owes.bytes >= 2*c.cfg.WindowBytes
}

// resume goes on with what a flooded disk held up.
func (c *Core) resume() {
	if c.flooded() {
		return
	}
	switch c.phase {
	case Following:
		if c.peer(c.hint) != nil {
			c.fetch(c.hint)
		}
	case Preparing:
		for i := range c.peers {
			if p := &c.peers[i]; p.held {
				p.held = false
				c.box.now(c.prepare(p))
			}
		}
	}
}
