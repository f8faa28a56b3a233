package replica

import (
	"testing"

	"tenure/multipaxos"
)

// "merging … none ahead of what the node's own log has synced": a slot can be chosen and applied by the others' votes
// before the own disk has it. What is folded must survive in the own log, or be reported as truncated.
func TestFoldWaitsForTheOwnLog(t *testing.T) {
	b := newBench(t, 1, 2, 3)
	p := b.lead(holding(1, sec))
	b.sent = nil
	b.request(1, sec)
	b.advance(0, p)
	for _, m := range b.sent {
		if m.Kind != multipaxos.KindAccept {
			continue
		}
		r := multipaxos.Message{Kind: multipaxos.KindAccepted, From: m.To, To: 1, Ballot: m.Ballot,
			Slot: m.Entries[0].Slot, Through: m.Entries[len(m.Entries)-1].Slot}
		if err := b.log.Step(r); err != nil {
			t.Fatal(err)
		}
	}
	b.apply()
	b.finish(0, p)
	if b.replies[1].Outcome != Done {
		t.Fatalf("not chosen by the others' votes, the test is wrong: %+v", b.replies[1])
	}
	b.log.Freeze()
	b.finish(0, p)
	if b.out.Fold != nil {
		t.Fatal("a fold was handed out before the own log had its entries")
	}
	b.sync()
	b.finish(0, p)
	if b.out.Fold == nil || b.out.Fold.Slot() != b.state.Applied() {
		t.Fatal("the fold was not handed out when the own log had its entries")
	}
}
