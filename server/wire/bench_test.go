package wire

import (
	"fmt"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/lease"
	"tenure/lease/named"
	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/server/replica/leases"
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

// frequent is a message that a busy cluster sends thousands of times in a second, or with each heartbeat.
type frequent struct {
	name   string
	encode func(b []byte) []byte // appends the body
	decode func(body []byte) error
	// byHand: the encoder is not the library's, which has a pool that the garbage collector may empty.
	byHand bool
}

func frequentMessages() []frequent {
	accept, accepts := acceptOf(1), acceptOf(64)
	vote := &multipaxos.Message{Kind: multipaxos.KindAccepted, From: 1, To: 2, Ballot: accept.Ballot,
		Slot: 1<<20 + 1, Through: 1<<20 + 1}
	command := kv.EncodeCommand(&kv.Command{Op: kv.OpSet, Key: "bench/00000000", Value: make([]byte, 256)})
	forward := &replica.Message{Kind: replica.KindForward, From: 2, To: 1,
		Writes: []replica.Write{{ID: 5, Command: command}}}
	done := kv.Result{Code: kv.CodeDone, Revision: 1 << 20}
	answer := &replica.Message{Kind: replica.KindForwarded, From: 1, To: 2,
		Answers: []replica.ForwardedAnswer{{ID: 5, Outcome: replica.Done, Result: done}}}
	beat := &replica.Message{Kind: replica.KindHeartbeat, From: 1, To: 2,
		Heartbeat: replica.Heartbeat{Master: true, Epoch: 9, Applied: 1 << 20, LeaseLeft: 6 * time.Second}}
	run := ballot.Incarnation{Restart: 3, Node: 1, Nonce: 1 << 60}
	renew := &lease.Message{Kind: lease.KindPrepare, From: 1, To: 2, Ballot: ballot.New(9, run), Owner: run}
	health, marks := &replica.Health{Able: true, GetsOn: true}, &Marks{Promised: accept.Ballot, Accepted: 9}
	requests := make([]named.Request, 16)
	for i := range requests {
		requests[i] = named.Request{Kind: named.Accept, Name: named.Name{byte(i)}, Counter: 1 << 40, Token: 1 << 33,
			Duration: time.Second, Owner: "owner", Text: "jobs/nightly"}
	}
	inLog := func(b []byte) error { _, err := DecodeLog(b, 2, 1); return err }
	return []frequent{
		{"accept=1", func(b []byte) []byte { return AppendLog(b, accept) }, inLog, true},
		{"accept=64", func(b []byte) []byte { return AppendLog(b, accepts) }, inLog, true},
		{"accepted", func(b []byte) []byte { return AppendLog(b, vote) }, inLog, true},
		{"forward", func(b []byte) []byte { return AppendReplica(b, forward) }, inLog, true},
		{"forwarded", func(b []byte) []byte { return AppendReplica(b, answer) }, inLog, true},
		{"heartbeat", func(b []byte) []byte { return AppendReplica(b, beat) }, inLog, true},
		{"lease", func(b []byte) []byte { return AppendLease(b, renew) },
			func(b []byte) error { _, err := DecodeLease(b); return err }, false},
		{"health", func(b []byte) []byte { return AppendHealth(b, health) },
			func(b []byte) error { _, err := DecodeLease(b); return err }, false},
		{"named=16", func(b []byte) []byte { return AppendNamed(b, &leases.Batch{For: run, Requests: requests}) },
			func(b []byte) error { _, err := DecodeNamed(b); return err }, true},
		{"keepalive", func(b []byte) []byte { return AppendKeepalive(b, marks) },
			func(b []byte) error { _, err := DecodeKeepalive(b); return err }, false},
	}
}

// BenchmarkEncode encodes each of the frequent messages into a buffer that is used again.
func BenchmarkEncode(b *testing.B) {
	for _, m := range frequentMessages() {
		b.Run(m.name, func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				buf = m.encode(buf[:0])
			}
			b.SetBytes(int64(len(buf)))
		})
	}
}

// BenchmarkDecode decodes each of the frequent messages. The allocations are what the receiver keeps; values of the log
// are not copied.
func BenchmarkDecode(b *testing.B) {
	for _, m := range frequentMessages() {
		b.Run(m.name, func(b *testing.B) {
			body := m.encode(nil)
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if err := m.decode(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Encoding by hand into a buffer that is large enough allocates nothing.
func TestEncodingAllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, 1<<20)
	for _, m := range frequentMessages() {
		if n := testing.AllocsPerRun(100, func() { buf = m.encode(buf[:0]) }); n > 0 && m.byHand {
			t.Errorf("%s: %v allocations", m.name, n)
		}
		if d := m.encode([]byte("before")); string(d[:6]) != "before" || string(d[6:]) != string(m.encode(nil)) {
			t.Errorf("%s: another body behind other bytes", m.name)
		}
	}
}
