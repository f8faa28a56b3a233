package multipaxos

import "testing"

// A node that lacks chosen entries asks one node after the other: the first may lack them too, or be gone.
func TestAnUnansweredFetchGoesToTheNextNode(t *testing.T) {
	s := follower(t)
	s.step(Message{Kind: KindHeartbeat, From: 2, Ballot: by(2, 1), Chosen: 9, Through: 9})
	asked, last := map[int]int{}, 0
	for range 200 {
		for _, m := range only(s.ticks(1), KindFetch) {
			if asked[int(m.To)]++; int(m.To) == last {
				t.Fatalf("node %d is asked twice in a row", last)
			}
			last = int(m.To)
		}
	}
	if len(asked) != 2 || asked[2] == 0 || asked[3] == 0 {
		t.Fatalf("asked %v", asked)
	}
}
