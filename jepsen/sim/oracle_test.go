package sim

import (
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/multipaxos"
)

// TestEndsAreTimedFromTheirProposal ends a key's time in slot 4. Node 1 is the master first, then node 2, whose epoch begins
// in slot 3, a moment after the key's time is over.
func TestEndsAreTimedFromTheirProposal(t *testing.T) {
	const ttl = 100 * time.Millisecond
	set := kv.Command{Op: kv.OpSet, Key: "a", Value: []byte("x"), TTL: ttl}
	end := kv.Command{Op: kv.OpEndKey, Key: "a", Arm: 2}
	for _, c := range []struct {
		name     string
		master   ballot.NodeID
		proposed time.Duration // after the key was set
		refused  bool
	}{
		{"in time by the first master, recovered behind the second one's barrier entry", 1, ttl + time.Millisecond, false},
		{"too early by the first master", 1, ttl / 2, true},
		{"in the second master's epoch, which is too young", 2, ttl + 20*time.Millisecond, true},
		{"in the second master's epoch", 2, 3 * ttl, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newChosenRun()
			r.choose(r.propose(1, 1, 0, []byte{tagOpen}))
			r.choose(r.propose(2, 1, 0, kv.AppendBatch([]byte{tagBatch}, kv.EncodeCommand(&set))))
			if c.master == 1 {
				r.propose(4, 1, c.proposed, kv.AppendBatch([]byte{tagBatch}, kv.EncodeCommand(&end)))
			}
			r.choose(r.propose(3, 2, ttl+10*time.Millisecond, []byte{tagOpen}))
			last := r.propose(4, 2, c.proposed, kv.AppendBatch([]byte{tagBatch}, kv.EncodeCommand(&end)))
			r.now += time.Second
			if refused := r.choose(last) == "nothing ends before its time"; refused != c.refused {
				t.Errorf("refused: %v", refused)
			}
			if r.counts.Ends != 1 {
				t.Errorf("%d ends were checked", r.counts.Ends)
			}
		})
	}
}

// chosenRun is a run in which nothing happens but what a test proposes and chooses.
type chosenRun struct {
	*world
	began time.Duration
}

func newChosenRun() *chosenRun {
	w := newWorld(Config{Seed: 1, Without: allFaults})
	return &chosenRun{world: w, began: w.now}
}

// propose has a master propose a value; a barrier entry begins its epoch.
func (r *chosenRun) propose(s multipaxos.Slot, master ballot.NodeID, at time.Duration, value []byte) *multipaxos.Entry {
	r.now = max(r.now, r.began+at)
	e := &multipaxos.Entry{Slot: s, Ballot: ballot.Ballot{Counter: uint64(master), Node: master}, Value: value}
	r.ledger.ballot(e).nodes = 0xff
	if value[0] == tagOpen {
		r.masters.epochs[uint64(s)] = r.nodes[master-1].machine
	}
	return e
}

// choose has an entry be chosen, and returns the check that fails, "" if none does.
func (r *chosenRun) choose(e *multipaxos.Entry) (failed string) {
	defer func() {
		if f, ok := recover().(*Failure); ok {
			failed = f.Check
		}
	}()
	r.ledger.choose(r.nodes[0].machine, e)
	return ""
}
