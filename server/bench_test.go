package server

import (
	"fmt"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/replica"
)

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
			encodeLog(m)
		}
	})
}

// BenchmarkDecodeLog is the same message on its way in. Values are not copied.
func BenchmarkDecodeLog(b *testing.B) {
	each(b, func(b *testing.B, m *multipaxos.Message) {
		body := encodeLog(m)
		for b.Loop() {
			if _, err := decodeLog(body); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func each(b *testing.B, run func(*testing.B, *multipaxos.Message)) {
	accept := acceptOf(1)
	vote := &multipaxos.Message{Kind: multipaxos.KindAccepted, From: 1, To: 2, Ballot: accept.Ballot, Slot: 1<<20 + 1, Through: 1<<20 + 1}
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
	m := &replica.Message{Kind: replica.KindForward, From: 2, To: 1, Writes: []replica.ForwardedWrite{{ID: 5, Command: kv.EncodeCommand(&c)}}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decodeReplica(encodeReplica(m)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLeaseCheck is what the lease costs a read at the master: the gate before and after the data, and the clock.
func BenchmarkLeaseCheck(b *testing.B) {
	g := newGate()
	g.setLease(1, time.Hour)
	g.setReady(1, 7)
	start := time.Now()
	check := func() bool {
		t, ok := g.load().Begin()
		return ok && g.load().End(t, time.Since(start))
	}
	b.Run("alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if !check() {
				b.Fatal("not held")
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if !check() {
					b.Error("not held")
					return
				}
			}
		})
	})
}
