package replica

import (
	"testing"

	"tenure/internal/ballot"
	"tenure/kv"
)

// A write is for the best quorum to have space for: one full member of three stops nothing.
func TestSpaceIsTheBestQuorums(t *testing.T) {
	const enough, low, none, gone = SpaceEnough, SpaceLow, SpaceNone, Space(99)
	for _, r := range []struct {
		own, two, three Space
		sets, deletes   bool
	}{
		{enough, enough, enough, true, true},
		{enough, enough, low, true, true},
		{enough, none, enough, true, true},
		{enough, low, low, false, true},
		{enough, none, low, false, true},
		{enough, none, none, false, false},
		{enough, gone, low, false, true},
		{enough, gone, none, false, false},
		{enough, gone, enough, true, true},
		{low, enough, enough, false, true},
		{none, enough, enough, false, false},
		{SpaceTight, low, enough, false, true},
		{enough, gone, gone, true, true}, // it waits for them: nothing is known of their space
	} {
		b := newBench(t, 1, 2, 3)
		p := b.lead(tenure(1, sec))
		for i, space := range []Space{r.two, r.three} {
			if space != gone {
				b.give(Event{Up: ballot.NodeID(i + 2)})
				b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: ballot.NodeID(i + 2), Heartbeat: Heartbeat{Space: space}}})
			}
		}
		b.log.SetDisk(Disk{Space: r.own})
		put, del := set("k", "v"), kv.Command{Op: kv.OpDelete, Key: "k"}
		b.give(Event{Write: &Write{ID: 1, Command: kv.EncodeCommand(&put), Frees: put.Frees(), Until: sec}})
		b.give(Event{Write: &Write{ID: 2, Command: kv.EncodeCommand(&del), Frees: del.Frees(), Until: sec}})
		b.run(0, p)
		if set, del := b.replies[1].Reason != NoSpace, b.replies[2].Reason != NoSpace; set != r.sets || del != r.deletes {
			t.Errorf("%+v: sets %v, deletes %v", r, set, del)
		}
	}
}

// What came in while there was space is refused when it is gone before it is proposed.
func TestQueuedWritesAreRefusedWhenSpaceIsGone(t *testing.T) {
	b := newBench(t, 1)
	p := b.settle(0, tenure(1, sec))
	b.request(1, sec)
	b.log.SetDisk(Disk{Space: SpaceLow})
	b.settle(0, p)
	if r := b.replies[1]; r.Outcome != Refused || r.Reason != NoSpace {
		t.Fatalf("%+v", r)
	}
}

// A master without space hands over to a member that has some, if a quorum without it has.
func TestFullMasterIsRelieved(t *testing.T) {
	b := newBench(t, 1, 2, 3)
	b.lead(tenure(1, sec))
	hear := func(two, three Space) {
		for i, space := range []Space{two, three} {
			b.give(Event{Up: ballot.NodeID(i + 2)})
			b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: ballot.NodeID(i + 2),
				Heartbeat: Heartbeat{Space: space, Applied: 100}}})
		}
		b.again()
	}
	hear(SpaceEnough, SpaceEnough)
	if next, _ := b.log.Relief(); next != 0 {
		t.Errorf("with space: %d", next)
	}
	b.log.SetDisk(Disk{Space: SpaceLow})
	hear(SpaceLow, SpaceEnough)
	if next, _ := b.log.Relief(); next != 0 {
		t.Errorf("one other with space is no quorum: %d", next)
	}
	hear(SpaceEnough, SpaceEnough)
	if next, _ := b.log.Relief(); next != 2 {
		t.Errorf("relieved by %d", next)
	}
	if next, _ := b.log.Relief(); next != 0 {
		t.Errorf("again at once: %d", next)
	}
}

// Space that is short starts a checkpoint although little has changed, once a second, and none when nothing has.
func TestShortSpaceCheckpointsAtOnce(t *testing.T) {
	b := newBench(t, 1)
	p := b.settle(0, tenure(1, sec))
	started := func() bool {
		t.Helper()
		b.log.ticks += shortCheckpointTicks
		b.tick(0, p)
		b.settle(0, p)
		return b.frozen != nil
	}
	b.request(1, sec)
	b.settle(0, p)
	if started() {
		t.Fatal("a checkpoint of one write, with space")
	}
	b.log.SetDisk(Disk{Space: SpaceLow})
	if !started() {
		t.Fatal("no checkpoint, without space")
	}
	b.save()
	if started() {
		t.Fatal("nothing has changed, and another checkpoint")
	}
	del := kv.Command{Op: kv.OpDelete, Key: "k"}
	b.give(Event{Write: &Write{ID: 2, Command: kv.EncodeCommand(&del), Frees: true, Until: sec}})
	b.settle(0, p)
	if !started() {
		t.Fatal("no checkpoint after a delete")
	}
}

// A disk that has not the space for a whole checkpoint keeps no tail of the log either: a tail may be larger than the
// checkpoint.
func TestADiskTooSmallForACheckpointKeepsNoTail(t *testing.T) {
	truncated := func(checkpointBytes int64) (behind uint64) {
		b := newBench(t, 1)
		b.log.SetDisk(Disk{CheckpointBytes: checkpointBytes})
		p := b.settle(0, tenure(1, sec))
		for id := range uint64(12) {
			b.request(id+1, sec)
			p = b.settle(0, p)
		}
		b.freeze(0, p)
		b.settle(0, p)
		b.save()
		b.tick(0, p)
		return b.log.checkpoints.done - uint64(b.log.core.Truncated())
	}
	cfg := newBench(t, 1).log.cfg
	if n := truncated(cfg.CheckpointBytes); n != cfg.Core.KeepEntries {
		t.Errorf("with space, a tail of %d entries", n)
	}
	if n := truncated(cfg.CheckpointBytes - 1); n != 0 {
		t.Errorf("without the space for a checkpoint, a tail of %d entries", n)
	}
}

// The tail is for members that lag: a node that has none keeps little.
func TestWithoutMembersThatLagTheTailIsNear(t *testing.T) {
	b := newBench(t, 1)
	b.log.SetDisk(Disk{})
	p := b.settle(0, tenure(1, sec))
	for id := range uint64(12) {
		b.request(id+1, sec)
		p = b.settle(0, p)
	}
	b.freeze(0, p)
	b.settle(0, p)
	b.save()
	for range heartbeatTicks + 1 {
		b.tick(0, p)
	}
	if n, most := b.log.checkpoints.done-uint64(b.log.core.Truncated()), b.log.cfg.Core.KeepEntries/8; n != most {
		t.Errorf("a tail of %d entries, want %d", n, most)
	}
}
