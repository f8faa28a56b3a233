package wire

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tenure/internal/ballot"
	"tenure/internal/codec"
	"tenure/kv"
	"tenure/lease"
	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/server/replica/snapshots"
)

// The headers as types: what log.go and replica.go write by hand.
type (
	logHeader struct {
		Message multipaxos.Message
		Sizes   []uint32
	}
	replicaHeader struct {
		Message replica.Message
		Sizes   []uint32
		Bodies  []uint32
	}
)

func drawBallot(t *rapid.T) ballot.Ballot {
	u := rapid.Uint64()
	return ballot.Ballot{Counter: u.Draw(t, "counter"), Restart: u.Draw(t, "restart"),
		Node: ballot.NodeID(u.Draw(t, "node")), Nonce: u.Draw(t, "nonce")}
}

func drawLog(t *rapid.T) *multipaxos.Message {
	slot := func(name string) multipaxos.Slot { return multipaxos.Slot(rapid.Uint64().Draw(t, name)) }
	m := &multipaxos.Message{Kind: multipaxos.Kind(rapid.Byte().Draw(t, "kind")), Ballot: drawBallot(t),
		Promised: drawBallot(t),
		Slot:     slot("slot"), Through: slot("through"), Chosen: slot("chosen"), Truncated: slot("truncated"),
		Round: rapid.Uint64().Draw(t, "round"), Membership: rapid.Uint64().Draw(t, "membership"),
		Last: rapid.Bool().Draw(t, "last")}
	for range rapid.IntRange(0, 40).Draw(t, "entries") {
		m.Entries = append(m.Entries, multipaxos.Entry{Slot: slot("slot"), Ballot: drawBallot(t), Value: drawBytes(t)})
	}
	return m
}

func drawBytes(t *rapid.T) []byte {
	return rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "value")
}

func drawBody(t *rapid.T) string { return rapid.StringN(0, 5, 20).Draw(t, "body") }

func drawReplica(t *rapid.T) *replica.Message {
	u := rapid.Uint64()
	wait := func() time.Duration { return time.Duration(rapid.Int64().Draw(t, "wait")) }
	m := &replica.Message{Kind: replica.MessageKind(rapid.Byte().Draw(t, "kind")),
		Heartbeat: replica.Heartbeat{Master: rapid.Bool().Draw(t, "master"), Epoch: u.Draw(t, "epoch"),
			Applied:   u.Draw(t, "applied"),
			LeaseLeft: wait(), Space: replica.Space(rapid.Byte().Draw(t, "space")),
			Membership: u.Draw(t, "membership"), Excluding: max(0, wait()), Level: u.Draw(t, "level")},
		Read: replica.ReadPoint{ID: u.Draw(t, "id"), Consistent: rapid.Bool().Draw(t, "consistent"),
			Granted: rapid.Bool().Draw(t, "granted"), Slot: u.Draw(t, "slot")}}
	for range rapid.IntRange(0, replica.MaxDigests).Draw(t, "digests") {
		m.Heartbeat.DigestFormat = u.Draw(t, "format")
		m.Heartbeat.Digests = append(m.Heartbeat.Digests, replica.Digest{Slot: u.Draw(t, "slot"), Sum: u.Draw(t, "sum")})
	}
	if rapid.Bool().Draw(t, "is silent") {
		m.Heartbeat.Silent = max(0, wait())
	}
	if rapid.IntRange(0, 3).Draw(t, "snapshot") == 0 {
		m.Snapshot = &snapshots.Message{ID: u.Draw(t, "id"), Above: u.Draw(t, "above"), Pieces: u.Draw(t, "pieces"),
			Refused: snapshots.Refusal(rapid.Byte().Draw(t, "refused")), After: drawBytes(t), Next: drawBytes(t),
			Header: drawBytes(t), Piece: drawBytes(t)}
	}
	for range rapid.IntRange(0, 40).Draw(t, "writes") {
		m.Writes = append(m.Writes, replica.Write{ID: u.Draw(t, "id"), Command: drawBytes(t),
			Frees: rapid.Bool().Draw(t, "frees"), Wait: wait()})
	}
	for range rapid.IntRange(0, 40).Draw(t, "answers") {
		m.Answers = append(m.Answers, replica.ForwardedAnswer{ID: u.Draw(t, "id"),
			Outcome: replica.Outcome(rapid.Byte().Draw(t, "outcome")),
			Reason:  replica.Reason(rapid.Byte().Draw(t, "reason")),
			Result: kv.Result{Code: kv.Code(rapid.Byte().Draw(t, "code")), Revision: u.Draw(t, "revision"),
				Count: u.Draw(t, "count"),
				Body:  drawBody(t), Dropped: rapid.Bool().Draw(t, "dropped")}})
	}
	return m
}

func from2to1(m multipaxos.Message) *multipaxos.Message {
	m.From, m.To = 2, 1
	return &m
}

// Messages survive encode and decode. The library reads headers written by hand, and the hand-written decoder reads the
// library's.
func TestLogHeaderIsTheLibrarys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawLog(t)
		body := EncodeLog(want)
		if got, err := DecodeLog(body, 2, 1); err != nil ||
			cmp.Diff(from2to1(*want), got.Log, cmpopts.EquateEmpty()) != "" {
			t.Fatalf("%+v became %+v, %v", want, got, err)
		}
		header, rest, err := cutHeader(body)
		if err != nil {
			t.Fatal(err)
		}
		var h logHeader
		if err := codec.Unmarshal(header, &h); err != nil {
			t.Fatal(err)
		}
		for i := range h.Message.Entries {
			h.Message.Entries[i].Value, rest = rest[:h.Sizes[i]], rest[h.Sizes[i]:]
		}
		if d := cmp.Diff(want, &h.Message, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("read by the library: %s", d)
		}
		for i := range h.Message.Entries {
			h.Message.Entries[i].Value = nil
		}
		_, rest, _ = cutHeader(body)
		var got multipaxos.Message
		if err := readLog(codec.Marshal(&h), rest, &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, &got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("written by the library: %s", d)
		}
	})
}

func TestReplicaHeaderIsTheLibrarys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawReplica(t)
		body := EncodeReplica(want)
		told := *want
		told.From, told.To = 2, 1
		if got, err := DecodeLog(body, 2, 1); err != nil || cmp.Diff(&told, got.Replica, cmpopts.EquateEmpty()) != "" {
			t.Fatalf("%+v became %+v, %v", want, got, err)
		}
		header, rest, err := cutHeader(body)
		if err != nil {
			t.Fatal(err)
		}
		var h replicaHeader
		if err := codec.Unmarshal(header, &h); err != nil {
			t.Fatal(err)
		}
		for i := range h.Message.Writes {
			h.Message.Writes[i].Command, rest = rest[:h.Sizes[i]], rest[h.Sizes[i]:]
		}
		for i, size := range h.Bodies {
			h.Message.Answers[i].Result.Body, rest = string(rest[:size]), rest[size:]
		}
		if d := cmp.Diff(want, &h.Message, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("read by the library: %s", d)
		}
		for i := range h.Message.Writes {
			h.Message.Writes[i].Command = nil
		}
		for i := range h.Message.Answers {
			h.Message.Answers[i].Result.Body = ""
		}
		_, rest, _ = cutHeader(body)
		var got replica.Message
		if err := readReplica(codec.Marshal(&h), rest, &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, &got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("written by the library: %s", d)
		}
	})
}

func TestLeaseBodyIsTheLibrarys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := rapid.Uint64()
		run := func() ballot.Incarnation {
			return ballot.Incarnation{Restart: u.Draw(t, "restart"), Node: ballot.NodeID(u.Draw(t, "node")),
				Nonce: u.Draw(t, "nonce")}
		}
		length := func() time.Duration { return time.Duration(rapid.Int64().Draw(t, "length")) }
		want := &lease.Message{
			Kind: lease.Kind(rapid.Byte().Draw(t, "kind")), From: ballot.NodeID(u.Draw(t, "from")),
			To:       ballot.NodeID(u.Draw(t, "to")),
			Resource: rapid.SampledFrom([]string{lease.MasterResource, "", drawBody(t)}).Draw(t, "resource"),
			Class:    rapid.Byte().Draw(t, "class"), Ballot: drawBallot(t), Owner: run(), Duration: length(),
			Promised: drawBallot(t),
			Live:     rapid.Bool().Draw(t, "live"), LiveOwner: run(), LiveBallot: drawBallot(t), LiveLeft: length(),
			Membership: rapid.Uint64Min(2).Draw(t, "membership"),
		}
		body := EncodeLease(want)
		if d := cmp.Diff(encode(nil, typeLease, want), body); d != "" {
			t.Fatalf("not what the library writes: %s", d)
		}
		if rapid.Bool().Draw(t, "first") { // is not written: the bytes are those of versions that know no other
			want.Membership = rapid.Uint64Max(1).Draw(t, "one")
			body = EncodeLease(want)
			want.Membership = membership(1, leaseNumbered(want.Kind))
		}
		got, err := DecodeLease(body)
		if err != nil || cmp.Diff(want, got.Message) != "" {
			t.Fatalf("%+v became %+v, %v", want, got.Message, err)
		}
	})
}
