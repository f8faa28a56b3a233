package transport

import (
	"testing"

	"tenure/internal/ballot"
	"tenure/internal/certs"
	"tenure/internal/certs/certstest"
	"tenure/server/wire"
)

// TestRevokedNodesAreCutOff: the connections of a node with a revoked certificate end, and it is refused when it dials
// and when it is dialled.
func TestRevokedNodesAreCutOff(t *testing.T) {
	ca := certstest.New(t, "prod")
	paths := map[ballot.NodeID]certs.Paths{1: ca.Node(t, "node-1"), 2: ca.Node(t, "node-2"), 3: ca.Node(t, "node-3")}
	list := ca.Revoked(t)
	var lists []*certs.Revocations
	with := func(id ballot.NodeID, heeds bool) func(*Config, *wire.Hello) {
		f := certstest.Load(t, paths[id])
		if heeds {
			r, err := certs.LoadRevocations(list, f)
			if err != nil {
				t.Fatal(err)
			}
			lists = append(lists, r)
		}
		return func(c *Config, _ *wire.Hello) { c.TLS = f }
	}
	// Node 3 has no lists, so that it goes on to dial: node 2 dials it, and it dials node 1.
	a, b, c := listen(t, 1, "", with(1, true)), listen(t, 2, "", with(2, true)), listen(t, 3, "", with(3, false))
	m := members(1, 2, 3)
	a.serve(m, b, c)
	b.serve(m, a, c)
	c.serve(m, a, b)
	for _, k := range wire.Kinds {
		for _, of := range []*node{a, b} {
			of.awaitEvent(t, "+"+k.String()+" 3", 1)
		}
		a.awaitEvent(t, "+"+k.String()+" 2", 1)
	}
	ca.Revoked(t, paths[3])
	for _, r := range lists {
		if changed, err := r.Reload(); err != nil || !changed {
			t.Fatal(changed, err)
		}
	}
	for _, k := range wire.Kinds {
		a.awaitEvent(t, "-"+k.String()+" 3", 1)
		b.awaitEvent(t, "-"+k.String()+" 3", 1)
	}
	const why = "the certificate of tenure://prod/node/node-3 is refused: it was revoked on"
	for _, of := range []*node{a, b} {
		of.logs.awaitAll(t, "connection refused", why)
	}
	c.logs.awaitAll(t, "connection refused", why)
	if !a.SendLog(2, logBody(1)) {
		t.Fatal("not sent")
	}
	b.recorder.await(t, "a frame of a node that is not revoked", func() bool { return len(b.log) == 1 })
	if lists[0].Ended() == 0 || lists[1].Ended() == 0 {
		t.Errorf("%d and %d connections were ended", lists[0].Ended(), lists[1].Ended())
	}
}
