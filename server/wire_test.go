package server

import (
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenure/internal/ballot"
	"tenure/lease"
	"tenure/multipaxos"
	"tenure/server/replica"
)

func sampleLog() *multipaxos.Message {
	b := ballot.Ballot{Counter: 3, Restart: 1, Node: 2, Nonce: 9}
	return &multipaxos.Message{Kind: multipaxos.KindAccept, From: 2, To: 1, Ballot: b, Chosen: 7, Entries: []multipaxos.Entry{
		{Slot: 8, Ballot: b, Value: []byte("first")}, {Slot: 9, Ballot: b}, {Slot: 10, Ballot: b, Value: []byte{0}}}}
}

func sampleReplica() *replica.Message {
	return &replica.Message{Kind: replica.KindForward, From: 2, To: 1, Writes: []replica.ForwardedWrite{
		{ID: 5, Command: []byte("command"), WaitFor: 3}, {ID: 6, Command: []byte("other"), Frees: true}}}
}

func TestMessagesSurviveTheWire(t *testing.T) {
	for _, want := range []*multipaxos.Message{sampleLog(), {Kind: multipaxos.KindHeartbeat, From: 1, To: 2, Chosen: 4}} {
		got, err := decodeLog(encodeLog(want))
		if err != nil {
			t.Fatal(err)
		}
		got.From, got.To = want.From, want.To // the connection knows
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	for _, want := range []*replica.Message{sampleReplica(), {Kind: replica.KindVitals, From: 1, To: 2, Vitals: replica.Vitals{Master: true, Epoch: 4}}} {
		got, err := decodeReplica(encodeReplica(want))
		if err != nil {
			t.Fatal(err)
		}
		got.From, got.To = want.From, want.To
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	want := lease.Message{Kind: lease.KindPrepare, From: 1, To: 2, Resource: lease.MasterResource, Class: lease.ClassMaster}
	var got lease.Message
	if err := decodeInto(encodeLease(&want), &got); err != nil || got != want {
		t.Fatalf("%+v %v", got, err)
	}
}

// Messages that share their bytes are those that have the same.
func TestSharedBodies(t *testing.T) {
	for name, change := range map[string]func(*multipaxos.Message){
		"":        func(m *multipaxos.Message) { m.To = 3 },
		"ballot":  func(m *multipaxos.Message) { m.Ballot.Counter++ },
		"chosen":  func(m *multipaxos.Message) { m.Chosen++ },
		"folded":  func(m *multipaxos.Message) { m.Folded++ },
		"fewer":   func(m *multipaxos.Message) { m.Entries = m.Entries[:2] },
		"later":   func(m *multipaxos.Message) { m.Entries = m.Entries[1:] },
		"none":    func(m *multipaxos.Message) { m.Entries = nil },
		"learned": func(m *multipaxos.Message) { m.Kind = multipaxos.KindLearn },
	} {
		a := sampleLog()
		b := *a
		change(&b)
		same := string(encodeLog(a)) == string(encodeLog(&b))
		if sharesBody(a, &b) != (name == "") || same != (name == "") {
			t.Errorf("%q: shared %v, same bytes %v", name, sharesBody(a, &b), same)
		}
	}
}

func TestCutFramesAreRefused(t *testing.T) {
	log, rep := encodeLog(sampleLog()), encodeReplica(sampleReplica())
	for i := range log {
		if _, err := decodeLog(log[:i]); err == nil {
			t.Errorf("the first %d of %d bytes pass for a message", i, len(log))
		}
	}
	for i := range rep {
		if _, err := decodeReplica(rep[:i]); err == nil {
			t.Errorf("the first %d of %d bytes pass for a message", i, len(rep))
		}
	}
	if _, err := decodeLog(append(log, 0)); err == nil {
		t.Error("a byte too many passes")
	}
}

// Whatever a peer sends allocates no more than a small multiple of its length.
func FuzzDecodeFrames(f *testing.F) {
	f.Add(encodeLog(sampleLog()))
	f.Add(encodeReplica(sampleReplica()))
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) == 0 {
			return
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = decodeLog(body)
		_, _ = decodeReplica(body)
		_ = decodeInto(body, new(lease.Message))
		runtime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(64<<10+64*len(body)); got > most {
			t.Fatalf("%d bytes allocated for a body of %d", got, len(body))
		}
	})
}
