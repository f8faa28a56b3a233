package multipaxos

import (
	"fmt"
	"testing"
)

// A node that lacks chosen entries asks one node after the other: the first may lack them too, or be gone.
func TestAnUnansweredFetchGoesToTheNextNode(t *testing.T) {
	s := follower(t)
	s.step(Message{Kind: KindMark, From: 2, Ballot: by(2, 1), Chosen: 9, Through: 9})
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

// While a node was away all members that it knows may have been replaced. A leader that it hears is asked again and
// again, whether or not it is one of them.
func TestALeaderOfALaterMembershipIsAsked(t *testing.T) {
	s := follower(t)
	asked, rounds := map[int]int{}, 40
	for range rounds {
		sent := s.step(Message{Kind: KindMark, From: 5, Ballot: by(5, 1), Chosen: 9, Through: 9})
		for _, m := range only(append(sent, s.ticks(idleTicks)...), KindFetch) {
			asked[int(m.To)]++
		}
	}
	if asked[5] < rounds/2 || asked[2] == 0 {
		t.Fatalf("asked %v", asked)
	}
}

// A node that has the entries which others have truncated is asked on, even if the own disk had to catch up in between.
func TestFetchGoesOnWithWhoHasIt(t *testing.T) {
	s := follower(t)
	s.step(Message{Kind: KindMark, From: 2, Ballot: by(2, 1), Chosen: 99, Through: 99})
	if m := s.one(s.step(Message{Kind: KindGone, From: 2, Slot: 1, Truncated: 90}), KindFetch); m.To != 3 {
		t.Fatalf("asks %d", m.To)
	}
	var values []string
	for i := range 4 * s.cfg.WindowEntries {
		values = append(values, fmt.Sprint(i))
	}
	learn := Message{Kind: KindLearn, From: 3, Chosen: 99, Entries: entries(by(2, 1), 1, values...)}
	s.none(s.step(learn), KindFetch, "while the disk is behind")
	if m := s.one(s.sync(), KindFetch); m.To != 3 || m.Slot != s.Chosen()+1 {
		t.Fatalf("asks node %d for slot %d", m.To, m.Slot)
	}
}
