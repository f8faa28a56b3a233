package transport

import (
	"net"
	"testing"

	"tenure/server/wire"
)

// A peer of an older release is dropped when the cluster is about to leave it behind, and let in again when that has
// come to nothing.
func TestAnOlderPeerIsDropped(t *testing.T) {
	a := listen(t, 1, "", func(c *Config, h *wire.Hello) { quick(c, h); h.Level = 1 })
	b := listen(t, 2, "", quick)
	a.serve(members(1, 2), b)
	b.serve(members(1, 2), a)
	awaitAll(t, a, "+", "2", 1)
	a.RequireLevel(1)
	awaitAll(t, a, "-", "2", 1)
	a.logs.awaitAll(t, "the cluster's feature level is 1", "node 2 runs a release that knows up to level 0")
	a.RequireLevel(0)
	awaitAll(t, a, "+", "2", 2)
}

// A connection whose handshake ended just before a higher level was required is not served.
func TestAnOlderPeerThatConnectsMeanwhileIsNotServed(t *testing.T) {
	n := listen(t, 2, "", nil)
	n.serve(members(1, 2))
	left, right := net.Pipe()
	defer right.Close()
	p, l := linked(n, wire.KindLog, left)
	n.RequireLevel(1)
	done := make(chan error, 1)
	go func() { done <- p.run(l, n) }()
	if _, err := right.Read(make([]byte, 1)); err == nil {
		t.Error("it is served")
	}
	right.Close()
	if err := <-done; err != errOlder || len(n.history()) > 0 {
		t.Fatalf("ended with %v, events %v", err, n.history())
	}
}
