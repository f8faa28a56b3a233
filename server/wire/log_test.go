package wire

import (
	"errors"
	"testing"

	"tenure/internal/ballot"
	"tenure/multipaxos"
	"tenure/server/replica"
)

func sampleLog() *multipaxos.Message {
	b := ballot.Ballot{Counter: 3, Restart: 1, Node: 2, Nonce: 9}
	return &multipaxos.Message{Kind: multipaxos.KindAccept, From: 2, To: 1, Ballot: b, Chosen: 7,
		Entries: []multipaxos.Entry{
			{Slot: 8, Ballot: b, Value: []byte("first")}, {Slot: 9, Ballot: b},
			{Slot: 10, Ballot: b, Value: []byte{0}}}}
}

func sampleReplica() *replica.Message {
	return &replica.Message{Kind: replica.KindForward, From: 2, To: 1, Writes: []replica.Write{
		{ID: 5, Command: []byte("command"), Wait: 3}, {ID: 6, Command: []byte("other"), Frees: true}}}
}

// Messages that share their bytes are those that have the same.
func TestSharedBodies(t *testing.T) {
	for name, change := range map[string]func(*multipaxos.Message){
		"":       func(m *multipaxos.Message) { m.To = 3 },
		"ballot": func(m *multipaxos.Message) { m.Ballot.Counter++ },
		"chosen": func(m *multipaxos.Message) { m.Chosen++ },
		"fewer":  func(m *multipaxos.Message) { m.Entries = m.Entries[:2] },
		"later":  func(m *multipaxos.Message) { m.Entries = m.Entries[1:] },
		"none":   func(m *multipaxos.Message) { m.Entries = nil },
		"others": func(m *multipaxos.Message) {
			m.Entries = []multipaxos.Entry{{Slot: 11, Ballot: m.Ballot}, {Slot: 12, Ballot: m.Ballot},
				{Slot: 13, Ballot: m.Ballot}}
		},
		"learned": func(m *multipaxos.Message) { m.Kind = multipaxos.KindLearn },
	} {
		a := sampleLog()
		b := *a
		change(&b)
		same := string(EncodeLog(a)) == string(EncodeLog(&b))
		if sharesBody(a, &b) != (name == "") || same != (name == "") {
			t.Errorf("%q: shared %v, same bytes %v", name, sharesBody(a, &b), same)
		}
	}
}

// EncodeLogs encodes once what goes to all peers.
func TestSharedBodiesAreEncodedOnce(t *testing.T) {
	a := sampleLog()
	b, c := *a, *a
	b.To = 3
	c.Chosen++
	var bodies [][]byte
	EncodeLogs([]multipaxos.Message{*a, b, c}, func(m *multipaxos.Message, body []byte) {
		if string(body) != string(EncodeLog(m)) {
			t.Errorf("to node %d go the bytes of another message", m.To)
		}
		bodies = append(bodies, body)
	})
	if len(bodies) != 3 || &bodies[0][0] != &bodies[1][0] || &bodies[1][0] == &bodies[2][0] {
		t.Errorf("%d bodies, shared wrongly", len(bodies))
	}
}

// A body that is cut anywhere, or followed by a byte, is no message.
func TestCutBodiesAreRefused(t *testing.T) {
	for name, body := range map[string][]byte{"log": EncodeLog(sampleLog()),
		"replica": EncodeReplica(sampleReplica())} {
		for i := range body {
			if _, err := DecodeLog(body[:i], 2, 1); err == nil {
				t.Errorf("%s: the first %d of %d bytes pass for a message", name, i, len(body))
			}
		}
		if _, err := DecodeLog(append(body, 0), 2, 1); err == nil {
			t.Errorf("%s: a byte too many passes", name)
		}
	}
}

// A type that a newer version may have added is told from bytes that no version sends.
func TestUnknownTypes(t *testing.T) {
	for _, body := range [][]byte{{200}, {200, 1, 2}, {typeKeepalive}} {
		_, lease := DecodeLease(body)
		_, log := DecodeLog(body, 2, 1)
		_, named := DecodeNamed(body)
		if !errors.Is(lease, ErrUnknownType) || !errors.Is(log, ErrUnknownType) || !errors.Is(named, ErrUnknownType) {
			t.Errorf("%v: %v, %v, %v", body, lease, log, named)
		}
	}
	for typ := range 256 {
		body := []byte{byte(typ)}
		_, lease := DecodeLease(body)
		_, log := DecodeLog(body, 2, 1)
		_, named := DecodeNamed(body)
		for kind, err := range map[Kind]error{KindLease: lease, KindLog: log, KindNamed: named} {
			if Known(kind, body) == errors.Is(err, ErrUnknownType) {
				t.Errorf("type %d on a %v connection: known %v, decoded with %v", typ, kind, Known(kind, body), err)
			}
		}
	}
	_, lease := DecodeLease(nil)
	_, log := DecodeLog(nil, 2, 1)
	_, named := DecodeNamed(nil)
	if !errors.Is(lease, ErrMalformed) || !errors.Is(log, ErrMalformed) || !errors.Is(named, ErrMalformed) {
		t.Errorf("nothing: %v, %v, %v", lease, log, named)
	}
}
