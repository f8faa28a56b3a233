package sim

import (
	"testing"

	"tenure/internal/ballot"
	"tenure/multipaxos"
)

// A leader that brings a membership itself need not propose what was accepted above its slot before: no leader before
// had that membership. If one had, its votes count.
func TestVotesOlderThanTheirMembership(t *testing.T) {
	for _, c := range []struct {
		name    string
		first   uint64 // ballot under which the membership was first proposed, in slot 1
		refused bool
	}{{"the first membership", 0, true}, {"an older one", 1, true}, {"one of this ballot", 2, false}} {
		t.Run(c.name, func(t *testing.T) {
			r := newChosenRun()
			vote := func(s multipaxos.Slot, counter uint64, nodes machineSet, value string) *multipaxos.Entry {
				e := &multipaxos.Entry{Slot: s, Ballot: ballot.Ballot{Counter: counter, Node: 1}, Value: []byte(value)}
				r.ledger.ballot(e).nodes = nodes
				return e
			}
			if c.first > 0 {
				vote(1, c.first, 0b111, "members")
				f := r.ledger.slot(1)
				f.chosen, f.value = true, []byte("members")
				r.members.list = append(r.members.list, chosenMembers{1, r.now, r.members.newest().Membership})
			}
			vote(2, 1, 0b110, "old")
			for i := range 3 {
				r.ledger.promise(i, ballot.Ballot{Counter: 2, Node: 1})
			}
			refused := func(value string) (refused bool) {
				defer func() {
					f, ok := recover().(*Failure)
					refused = ok && f.Check == "highest value again"
				}()
				e := &multipaxos.Entry{Slot: 2, Ballot: ballot.Ballot{Counter: 2, Node: 1}, Value: []byte(value)}
				r.ledger.checkProposal(r.nodes[0].machine, e)
				return false
			}
			if refused("old") || refused("new") != c.refused {
				t.Errorf("another value is refused: %v", !c.refused)
			}
		})
	}
}
