package multipaxos

import (
	"testing"
)

// A Mark does not repeat progress that a proposal has told. It tells progress that no proposal has told.
func TestProgressIsToldOnce(t *testing.T) {
	s := leading(t, 3)
	s.ticks(idleTicks)
	s.propose("a")
	s.sync()
	s.accepted(2, 1, 1)
	s.sync()
	s.Applied(1)
	if s.Chosen() != 1 {
		t.Fatalf("chosen up to %d", s.Chosen())
	}
	s.propose("b")
	sent := only(s.sync(), KindAccept)
	if len(sent) != 2 || sent[0].Chosen != 1 || sent[1].Chosen != 1 {
		t.Fatalf("proposals that do not tell what is chosen: %+v", sent)
	}
	s.Advertise(2)
	if again := only(s.take(), KindMark); len(again) != 0 {
		t.Errorf("told again: %+v", again)
	}
	s.accepted(2, 2, 2)
	s.Applied(2)
	s.take()
	s.Advertise(2)
	if news := only(s.take(), KindMark); len(news) != 1 || news[0].Chosen != 2 || news[0].To != 2 {
		t.Errorf("that slot 2 is chosen was not told: %+v", news)
	}
}

// A log truncated beyond its entries in memory goes on right behind the truncation, and keeps nothing of the gap.
func TestALogGoesOnBehindWhatIsTruncated(t *testing.T) {
	l := entryLog{reader: noEntries{}, base: 10}
	l.truncate(1000)
	l.truncate(500) // long done
	if l.last() != 1000 {
		t.Errorf("it ends at slot %d", l.last())
	}
	l.put(Entry{Slot: 1001, Ballot: by(1, 1)}, 1)
	if l.last() != 1001 || l.bytes != recordBytes || l.at(1001) == nil {
		t.Errorf("with one entry it ends at slot %d and takes %d bytes", l.last(), l.bytes)
	}
}

// A silent peer is sent again all entries that it has not acknowledged, and no others.
func TestAResendBeginsBehindWhatIsAcknowledged(t *testing.T) {
	s := leading(t, 5)
	s.propose("a", "b")
	s.sync()
	s.accepted(2, 1, 2)
	s.accepted(3, 1, 2)
	if s.Chosen() != 2 {
		t.Fatalf("chosen up to %d", s.Chosen())
	}
	s.propose("c", "d")
	s.sync()
	s.accepted(2, 3, 3)
	for range 100 {
		for _, m := range only(s.ticks(1), KindAccept) {
			if m.To != 2 {
				continue
			}
			if m.Entries[0].Slot != 4 {
				t.Errorf("sent again from slot %d on, want 4", m.Entries[0].Slot)
			}
			return
		}
	}
	t.Error("nothing is sent again")
}
