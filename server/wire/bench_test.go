package wire

import (
	"fmt"
	"testing"

	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/replica"
)

// benchBodies: a vote, an Accept of one command, one of sixty-four.
var benchBodies = []int{100, 400, 20_000}

// BenchmarkWriteFrame is one frame gathered, checksum included.
func BenchmarkWriteFrame(b *testing.B) {
	for _, n := range benchBodies {
		b.Run(fmt.Sprintf("bytes=%d", n), func(b *testing.B) {
			var w FrameWriter
			body := make([]byte, n)
			b.ReportAllocs()
			b.SetBytes(int64(n))
			for b.Loop() {
				w.Add(body)
				w.Parts()
				w.Reset()
			}
		})
	}
}

// BenchmarkWriteFrames16 is sixteen frames of 400 bytes gathered together.
func BenchmarkWriteFrames16(b *testing.B) {
	var w FrameWriter
	body := make([]byte, 400)
	b.ReportAllocs()
	b.SetBytes(16 * 400)
	for b.Loop() {
		for range 16 {
			w.Add(body)
		}
		w.Parts()
		w.Reset()
	}
}

// BenchmarkReadFrame is one frame read and checked. The one allocation is the body, which the caller keeps.
func BenchmarkReadFrame(b *testing.B) {
	for _, n := range benchBodies {
		b.Run(fmt.Sprintf("bytes=%d", n), func(b *testing.B) {
			r := NewFrameReader(&again{text: AppendFrame(nil, make([]byte, n))}, 1<<20)
			b.ReportAllocs()
			b.SetBytes(int64(n))
			for b.Loop() {
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// again reads the same text for ever.
type again struct {
	text []byte
	at   int
}

func (a *again) Read(p []byte) (int, error) {
	n := copy(p, a.text[a.at:])
	a.at = (a.at + n) % len(a.text)
	return n, nil
}

// acceptOf is the message that carries n puts of 256 bytes in one slot.
func acceptOf(n int) *multipaxos.Message {
	value := []byte{1}
	for i := range n {
		c := kv.Command{Op: kv.OpSet, Key: fmt.Sprintf("bench/%08d", i), Value: make([]byte, 256)}
		value = kv.AppendBatch(value, kv.EncodeCommand(&c))
	}
	b := ballot.Ballot{Counter: 3, Restart: 1, Node: 2, Nonce: 1 << 60}
	return &multipaxos.Message{Kind: multipaxos.KindAccept, From: 2, To: 1, Ballot: b, Chosen: 1 << 20,
		Entries: []multipaxos.Entry{{Slot: 1<<20 + 1, Ballot: b, Value: value}}}
}

// BenchmarkEncodeLog is a message on its way out: an Accept with so many commands, and the vote for it.
func BenchmarkEncodeLog(b *testing.B) {
	each(b, func(b *testing.B, m *multipaxos.Message) {
		for b.Loop() {
			EncodeLog(m)
		}
	})
}

// BenchmarkDecodeLog is the same message on its way in. Values are not copied.
func BenchmarkDecodeLog(b *testing.B) {
	each(b, func(b *testing.B, m *multipaxos.Message) {
		body := EncodeLog(m)
		for b.Loop() {
			if _, err := DecodeLog(body, 2, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func each(b *testing.B, run func(*testing.B, *multipaxos.Message)) {
	accept := acceptOf(1)
	vote := &multipaxos.Message{Kind: multipaxos.KindAccepted, From: 1, To: 2, Ballot: accept.Ballot, Slot: 1<<20 + 1,
		Through: 1<<20 + 1}
	for _, x := range []struct {
		name string
		m    *multipaxos.Message
	}{{"accept=1", accept}, {"accept=64", acceptOf(64)}, {"accepted", vote}} {
		b.Run(x.name, func(b *testing.B) {
			b.ReportAllocs()
			run(b, x.m)
		})
	}
}

// BenchmarkForward is a write on its way from a follower to the master: encoded there, decoded here.
func BenchmarkForward(b *testing.B) {
	c := kv.Command{Op: kv.OpSet, Key: "bench/00000000", Value: make([]byte, 256)}
	m := &replica.Message{Kind: replica.KindForward, From: 2, To: 1,
		Writes: []replica.ForwardedWrite{{ID: 5, Command: kv.EncodeCommand(&c)}}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeLog(EncodeReplica(m), 2, 1); err != nil {
			b.Fatal(err)
		}
	}
}
