package runner

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/server/slow"
)

// observed returns the number of observations and their sum in ms, by stage and peer.
func observed(t *testing.T, reg *prometheus.Registry) map[string][2]int {
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][2]int{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name = l.GetValue()
				if l.GetName() == "peer" && l.GetValue() != "" {
					name = "acked " + l.GetValue()
					break
				}
				if l.GetName() == "stage" {
					break
				}
			}
			for _, l := range m.Label {
				if l.GetName() == "stage" && l.GetValue() != "acked" {
					name = l.GetValue()
				}
			}
			out[name] = [2]int{int(m.Histogram.GetSampleCount()), int(m.Histogram.GetSampleSum()*1000 + 0.5)}
		}
	}
	return out
}

func TestStagesOfABatch(t *testing.T) {
	reg := prometheus.NewRegistry()
	s := newStages(reg, testMembers(1, 2, 3))
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	s.proposed(ms(100), &replica.Output{
		Proposed: []replica.Proposal{{Slot: 7, Writes: 3, Bytes: 900, Waited: ms(4)}},
		Persists: []multipaxos.Persist{{Seq: 5}, {Seq: 6, Entries: []multipaxos.Entry{{Slot: 7}}}}})
	s.persisted(ms(101), 5)
	s.acked(ms(102), &multipaxos.Message{Kind: multipaxos.KindAccepted, From: 2, Slot: 7, Through: 7})
	s.acked(ms(102), &multipaxos.Message{Kind: multipaxos.KindReject, From: 3, Slot: 7, Through: 7})
	s.persisted(ms(103), 6)
	s.moved(ms(103), 7, 6)
	s.moved(ms(104), 7, 7)
	if len(s.batches) != 1 {
		t.Fatalf("%d batches are followed before the last peer has answered", len(s.batches))
	}
	s.acked(ms(109), &multipaxos.Message{Kind: multipaxos.KindAccepted, From: 3, Slot: 6, Through: 8})
	s.moved(ms(110), 8, 8)
	if len(s.batches) != 0 {
		t.Fatalf("%d batches are followed after the end", len(s.batches))
	}
	got := observed(t, reg)
	for name, want := range map[string][2]int{"queued": {1, 4}, "persisted": {1, 3}, "acked 2": {1, 2}, "acked 3": {1, 9}, "chosen": {1, 3}, "applied": {1, 4}} {
		if got[name] != want {
			t.Errorf("%s: %v observations and ms, want %v", name, got[name], want)
		}
	}
}

// A peer that does not answer does not make the table grow.
func TestStagesAreBounded(t *testing.T) {
	s := newStages(prometheus.NewRegistry(), testMembers(1, 2, 3))
	for slot := range multipaxos.Slot(10 * maxTracked) {
		s.proposed(0, &replica.Output{Proposed: []replica.Proposal{{Slot: slot}}})
		s.persisted(0, uint64(slot))
		s.moved(0, slot, slot)
		if len(s.batches) > maxTracked {
			t.Fatalf("%d batches are followed", len(s.batches))
		}
	}
	if len(s.batches) > maxTracked/2+1 {
		t.Errorf("%d batches are followed of which all are applied", len(s.batches))
	}
}

// A write has the time of each of its stages. A write proposed by another node has only the time that it was forwarded,
// a refused one only its time in the queue.
func TestWhereTheTimeOfAWriteWent(t *testing.T) {
	s := newStages(prometheus.NewRegistry(), testMembers(1, 2, 3))
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	s.proposed(ms(100), &replica.Output{Proposed: []replica.Proposal{{Slot: 7, Writes: 1}},
		Persists: []multipaxos.Persist{{Seq: 6, Entries: []multipaxos.Entry{{Slot: 7}}}}})
	s.persisted(ms(103), 6)
	for what, c := range map[string]struct {
		reply replica.Reply
		want  slow.Write
	}{
		"proposed here": {replica.Reply{Outcome: replica.Done, Slot: 7},
			slow.Write{Queue: ms(4), Journal: ms(3), Quorum: ms(10), Apply: ms(1)}},
		"proposed by the master": {replica.Reply{Outcome: replica.Done}, slow.Write{Forward: ms(15)}},
		"refused":                {replica.Reply{Outcome: replica.Refused}, slow.Write{Queue: ms(15)}},
		"one of too many":        {replica.Reply{Outcome: replica.Done, Slot: 9}, slow.Write{}},
	} {
		if got := s.write(ms(110), ms(111), ms(96), &c.reply); got != c.want {
			t.Errorf("%s: %+v, want %+v", what, got, c.want)
		}
	}
}
