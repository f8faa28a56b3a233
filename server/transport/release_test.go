package transport

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/wire"
)

func dead(id ballot.NodeID) wire.Release {
	h := honest(id)
	return wire.Release{Cluster: h.Cluster, Store: h.Store, Owner: h.Incarnation, Counters: []uint64{3, 1 << 40}}
}

func dialTo(t *testing.T, n *node) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", n.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// A Release reaches the handler each time that a guardian sends it, and the connections of the run that lives meanwhile
// stay.
func TestReleaseReplacesNoConnection(t *testing.T) {
	a, b := pair(t, nil)
	r := dead(1)
	c := dialTo(t, b)
	for range 2 {
		if err := writeRelease(c, 2, r); err != nil {
			t.Fatal(err)
		}
	}
	b.await(t, "both releases", func() bool { return len(b.dead) == 2 })
	for _, got := range b.dead {
		if diff := cmp.Diff(wire.Release{Owner: r.Owner, Counters: r.Counters}, got); diff != "" {
			t.Error(diff)
		}
	}
	if !a.SendLease(2, leaseBody(1)) {
		t.Fatal("the lease connection is gone")
	}
	b.await(t, "a frame of the living", func() bool { return len(b.lease) == 1 })
	if n := count(b.history(), "-lease 1") + count(b.history(), "-log 1"); n > 0 {
		t.Errorf("%d connections ended", n)
	}
	if p := b.Peers()[0]; !p.Lease.Connected || p.Incarnation != r.Owner {
		t.Errorf("%+v", p)
	}
}

// A Release that cannot be meant for this node, or is not about a member, is refused with both sides named, and logged.
func TestReleaseIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		to     ballot.NodeID
		change func(*wire.Release)
		words  []string
	}{
		"another node": {3, func(*wire.Release) {}, []string{"gives for node 3 leads to node 2"}},
		"itself":       {2, func(r *wire.Release) { *r = dead(2) }, []string{"speaks for node 2 to node 2 itself"}},
		"cluster": {2, func(r *wire.Release) { r.Cluster = ident.ClusterID{0xdd} },
			[]string{ident.ClusterID{0xdd}.String(), ident.ClusterID{0xcc}.String()}},
		"store": {2, func(r *wire.Release) { r.Store = store(9) },
			[]string{store(9).String(), "not in membership"}},
		"no member":  {2, func(r *wire.Release) { *r = dead(7) }, []string{"node 7", "not in membership"}},
		"no ballots": {2, func(r *wire.Release) { r.Counters = nil }, []string{"release of 0 ballots"}},
		"too many": {2, func(r *wire.Release) { r.Counters = make([]uint64, wire.MaxReleaseCounters+1) },
			[]string{"release of 65 ballots"}},
		"no owner": {2, func(r *wire.Release) { r.Owner = ballot.Incarnation{} }, []string{"release without owner"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, b := pair(t, nil)
			r := dead(1)
			c.change(&r)
			if err := writeRelease(dialTo(t, b), c.to, r); err != nil {
				t.Fatal(err)
			}
			b.logs.awaitAll(t, c.words...)
			b.change(func() {
				if len(b.dead) > 0 {
					t.Errorf("handed on: %+v", b.dead)
				}
			})
		})
	}
}

// One connection brings so many and no more.
func TestReleasesOfAConnectionAreBounded(t *testing.T) {
	_, b := pair(t, nil)
	c := dialTo(t, b)
	for range maxReleaseRounds + 5 {
		if err := writeRelease(c, 2, dead(1)); err != nil {
			break
		}
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Fatal("an answer")
	}
	b.change(func() {
		if len(b.dead) > maxReleaseRounds {
			t.Errorf("%d releases were handed on", len(b.dead))
		}
	})
}

// writeRelease writes r for node to, as a guardian does.
func writeRelease(nc net.Conn, to ballot.NodeID, r wire.Release) error {
	_, err := nc.Write(wire.AppendFrame(nil, wire.EncodeHandshake(&wire.ReleaseMsg{To: to, Release: r})))
	return err
}
