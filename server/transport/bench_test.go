package transport

import (
	"testing"

	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/server/wire"
)

// echo answers lease frames and tells the benchmark of answers.
type echo struct {
	recorder
	tr   *Transport
	back chan struct{}
}

func (e *echo) LeaseFrame(from ballot.NodeID, _ ballot.Incarnation, b []byte) {
	if e.back != nil {
		e.back <- struct{}{}
		return
	}
	e.tr.SendLease(from, b)
}

func BenchmarkLeaseRoundTrip(b *testing.B) {
	var ends [2]*echo
	for i := range ends {
		h := honest(ballot.NodeID(i + 1))
		tr, err := Listen(Config{Self: h.Node, Addr: "127.0.0.1:0", Log: zerolog.Nop(),
			Hello: func() wire.Hello { return h }})
		if err != nil {
			b.Fatal(err)
		}
		defer tr.Close()
		ends[i] = &echo{tr: tr}
	}
	ends[0].back = make(chan struct{}, 1)
	addrs := map[ballot.NodeID]string{2: ends[1].tr.Addr().String()}
	ends[0].tr.Serve(ends[0], members(1, 2), addrs)
	ends[1].tr.Serve(ends[1], members(1, 2), nil)
	for !ends[0].tr.SendLease(2, leaseBody(100)) {
	}
	<-ends[0].back
	b.ReportAllocs()
	for b.Loop() {
		ends[0].tr.SendLease(2, leaseBody(100))
		<-ends[0].back
	}
}
