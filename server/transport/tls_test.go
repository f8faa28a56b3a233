package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/certs"
	"tenure/internal/certs/certstest"
	"tenure/internal/ident"
	"tenure/server/wire"
)

// secured returns a change of listen that gives a node the files of p.
func secured(t *testing.T, p certs.Paths) func(*Config, *wire.Hello) {
	f := certstest.Load(t, p)
	return func(c *Config, _ *wire.Hello) { c.TLS = f }
}

func TestFramesFlowOverTLS(t *testing.T) {
	ca := certstest.New(t, "prod")
	a, b := listen(t, 1, "", secured(t, ca.Node(t, "node-1"))), listen(t, 2, "", secured(t, ca.Node(t, "node-2")))
	m := members(1, 2)
	a.serve(m, b)
	b.serve(m, a)
	for _, k := range wire.Kinds {
		a.awaitEvent(t, "+"+k.String()+" 2", 1)
		b.awaitEvent(t, "+"+k.String()+" 1", 1)
	}
	big := logBody(9 << 20)
	for _, body := range [][]byte{logBody(1), big, logBody(2)} {
		if !a.SendLog(2, body) {
			t.Fatal("not sent")
		}
	}
	b.recorder.await(t, "all frames", func() bool { return len(b.log) == 3 && len(b.log[1]) == len(big) })
}

// TestNobodyWithoutACertificate: who shows none is told, and may say nothing; all of them together are one line of the
// log.
func TestNobodyWithoutACertificate(t *testing.T) {
	ca := certstest.New(t, "prod")
	n := listen(t, 2, "", secured(t, ca.Node(t, "node-2")))
	n.serve(members(1, 2))
	for range 5 {
		nc, err := tls.Dial("tcp", n.Addr().String(), &tls.Config{RootCAs: ca.Pool(t)})
		if err != nil {
			t.Fatal(err)
		}
		c := newConn(nc, 0, time.Now().Add(testTimeout))
		if err := c.send(&wire.HelloMsg{Kind: wire.KindLog, To: 2, Hello: honest(1)}); err != nil {
			t.Fatal(err)
		}
		var r *Refusal
		if _, err := c.receive(); !errors.As(err, &r) || r.Reason != wire.ReasonCertificate ||
			!strings.Contains(r.Text, "it shows no certificate") {
			t.Errorf("answered %v", err)
		}
		nc.Close()
	}
	n.Close()
	if lines := n.logs.count("connection refused"); lines != 1 {
		t.Errorf("%d lines in the log", lines)
	}
}

// TestTLSOnOneSideOnly: the node with TLS and the node without it both log the mistake, in both directions of dialling.
func TestTLSOnOneSideOnly(t *testing.T) {
	ca := certstest.New(t, "prod")
	for _, dials := range []bool{true, false} { // the one with TLS
		a, b := listen(t, 1, "", secured(t, ca.Node(t, "node-1"))), listen(t, 2, "", nil)
		if !dials {
			a, b = listen(t, 1, "", nil), listen(t, 2, "", secured(t, ca.Node(t, "node-2")))
		}
		m := members(1, 2)
		a.serve(m, b)
		b.serve(m)
		for _, n := range []*node{a, b} {
			n.logs.awaitAll(t, "connection refused", "TLS with its peers", "--tls-cert, --tls-key and --tls-ca, or none")
		}
	}
}

// TestGarbageInsteadOfTLS: whatever comes instead of a handshake, and nothing at all, ends in bounded time.
func TestGarbageInsteadOfTLS(t *testing.T) {
	ca := certstest.New(t, "prod")
	n := listen(t, 2, "", func(c *Config, h *wire.Hello) {
		secured(t, ca.Node(t, "node-2"))(c, h)
		c.HandshakeTimeout = 200 * time.Millisecond
	})
	n.serve(members(1, 2))
	for _, text := range []string{
		"", "\x16\x03\x01", "\x16\x03\x01\x40\x00" + strings.Repeat("x", 1<<14), strings.Repeat("\x00", 1<<16), "GET / HTTP/1.1\r\n\r\n",
		"\x16\x03\x01\x00\x04\x01\x00\x00\x00", "\x15\x03\x01\x00\x02\x02\x28", "\x80\x2e\x01\x03\x01",
	} {
		nc, err := net.Dial("tcp", n.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(nc, text)
		nc.SetDeadline(time.Now().Add(testTimeout))
		began := time.Now()
		_, err = io.Copy(io.Discard, nc)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() || time.Since(began) > testTimeout/2 {
			t.Errorf("%.10q: open after %v", text, time.Since(began))
		}
		nc.Close()
	}
}

// TestNewFilesForNewConnections: a connection that is open goes on with a new certificate and with another authority,
// and a new one needs them.
func TestNewFilesForNewConnections(t *testing.T) {
	ca := certstest.New(t, "prod")
	files := map[ballot.NodeID]*certs.Files{1: certstest.Load(t, ca.Node(t, "node-1")), 2: certstest.Load(t, ca.Node(t, "node-2"))}
	with := func(id ballot.NodeID) func(*Config, *wire.Hello) {
		return func(c *Config, _ *wire.Hello) { c.TLS = files[id] }
	}
	a, b := listen(t, 1, "", with(1)), listen(t, 2, "", with(2))
	m := members(1, 2)
	a.serve(m, b)
	b.serve(m, a)
	for _, k := range wire.Kinds {
		a.awaitEvent(t, "+"+k.String()+" 2", 1)
		b.awaitEvent(t, "+"+k.String()+" 1", 1)
	}
	if _, err := ca.RenewAuthority(certs.AuthorityValidity, time.Now()); err != nil {
		t.Fatal(err)
	}
	reload := func() {
		for _, f := range files {
			if changed, err := f.Reload(); err != nil || !changed {
				t.Fatal(changed, err)
			}
		}
	}
	reload()
	for _, f := range files {
		if _, err := ca.Renew(f.Paths().Cert, 0, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	reload()
	if _, err := ca.Retire(time.Now()); err != nil {
		t.Fatal(err)
	}
	reload()
	if !a.SendLog(2, logBody(1)) {
		t.Fatal("not sent")
	}
	b.recorder.await(t, "a frame on the connection of before", func() bool { return len(b.log) == 1 })
	if e := b.history(); len(e) != len(wire.Kinds) {
		t.Errorf("connections have ended: %v", e)
	}
	b.Transport.peers.Load().get(1).end(wire.KindLog).link.Load().close(errors.New("by the test"))
	b.awaitEvent(t, "+log 1", 2)
}

// TestBootstrapTakesNamesFromCertificates: the membership binds each id to the name in the certificate of its node.
func TestBootstrapTakesNamesFromCertificates(t *testing.T) {
	ca := certstest.New(t, "prod")
	var nodes []*node
	var list []wire.Address
	for i, name := range []string{"alpha", "beta", "gamma"} {
		n := listen(t, ballot.NodeID(i+1), "", secured(t, ca.Node(t, name)))
		nodes = append(nodes, n)
		list = append(list, wire.Address{Node: n.cfg.Self, Addr: n.Addr().String()})
	}
	got := make(chan ident.Membership, len(nodes))
	for _, n := range nodes {
		go func() {
			_, m, _, err := n.Bootstrap(within(t), memory(n.cfg.Self, list))
			if err != nil {
				t.Error(err)
			}
			got <- m
		}()
	}
	for range nodes {
		m := <-got
		for i, name := range []string{"alpha", "beta", "gamma"} {
			if len(m.Members) != 3 || m.Members[i].Name != name {
				t.Errorf("membership %+v", m)
			}
		}
	}
}

// memory is the configuration of a bootstrap whose store is in memory.
func memory(self ballot.NodeID, list []wire.Address) BootstrapConfig {
	var cluster ident.ClusterID
	var membership ident.Membership
	return BootstrapConfig{
		Self: self, Store: store(self), Data: "d", List: list,
		Formed: func() (ident.ClusterID, ident.Membership, bool) { return cluster, membership, !cluster.IsZero() },
		Found: func(c ident.ClusterID, m ident.Membership) error {
			cluster, membership = c, m
			return nil
		},
	}
}

// TestNobodyIsRenamedByAFounder: a node takes a membership only with the name in its own certificate.
func TestNobodyIsRenamedByAFounder(t *testing.T) {
	ca := certstest.New(t, "prod")
	list := []wire.Address{{Node: 1, Addr: "a:1"}, {Node: 2, Addr: "b:1"}}
	for name, ok := range map[string]bool{"alpha": true, "beta": false, "": false} {
		b := &bootstrap{cfg: memory(1, list), tls: certstest.Load(t, ca.Node(t, "alpha")), open: true,
			settled: make(chan struct{})}
		m := members(1, 2)
		m.Members[0].Name = name
		var r *Refusal
		if err := b.adopt(ident.ClusterID{1}, m); (err == nil) != ok || !ok && (!errors.As(err, &r) || r.Reason != wire.ReasonCertificate) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestTwoNodesWithOneName found no cluster.
func TestTwoNodesWithOneName(t *testing.T) {
	ca := certstest.New(t, "prod")
	a, b := listen(t, 1, "", secured(t, ca.Node(t, "alpha"))), listen(t, 2, "", secured(t, ca.Node(t, "alpha")))
	list := []wire.Address{{Node: 1, Addr: a.Addr().String()}, {Node: 2, Addr: b.Addr().String()}}
	ctx, cancel := context.WithCancel(within(t))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _, _, _ = b.Bootstrap(ctx, memory(2, list))
	}()
	if _, _, _, err := a.Bootstrap(ctx, memory(1, list)); err == nil ||
		!strings.Contains(err.Error(), "certificates of the same name, alpha") {
		t.Error(err)
	}
	cancel()
	<-ended
}

// TestJoinUnderTheNameOfTheCertificate: a node joins as who it is, and only with the certificate of a node.
func TestJoinUnderTheNameOfTheCertificate(t *testing.T) {
	ca := certstest.New(t, "prod")
	n := listen(t, 1, "", func(c *Config, h *wire.Hello) {
		secured(t, ca.Node(t, "node-1"))(c, h)
		c.Join = func(_ context.Context, m wire.JoinMsg) (wire.JoinedMsg, error) {
			joined := members(1)
			joined.Change = 1
			joined.NonVoters = []ident.Member{{Node: 4, Store: m.Store, Name: m.Name}}
			return wire.JoinedMsg{Node: 4, Cluster: ident.ClusterID{0xcc}, Membership: joined}, nil
		}
	})
	n.serve(members(1))
	m := newcomer()
	for _, c := range []struct {
		name  string
		paths certs.Paths
		want  string // "": let in
	}{
		{"n4", ca.Node(t, "n4"), ""},
		{"n4", ca.Node(t, "n5"), "its name must be that of its certificate"},
		{"", ca.Node(t, "n4"), "its name must be that of its certificate"},
		{"n4", ca.Client(t, "n4"), "only nodes are peers"},
	} {
		m.Name = c.name
		joined, err := Join(within(t), n.Addr().String(), m, certstest.Load(t, c.paths))
		if c.want == "" && (err != nil || joined.Node != 4) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s with %v: %v, %v", c.name, c.paths.Cert, joined, err)
		}
	}
	if _, err := Join(within(t), n.Addr().String(), m, nil); err == nil || !strings.Contains(err.Error(), "speaks TLS") {
		t.Errorf("without TLS: %v", err)
	}
}

// TestGuardiansShowTheCertificateOfTheirNode: a release in the name of another member is refused.
func TestGuardiansShowTheCertificateOfTheirNode(t *testing.T) {
	ca := certstest.New(t, "prod")
	n := listen(t, 2, "", secured(t, ca.Node(t, "node-2")))
	n.serve(members(1, 2, 3))
	say := func(p certs.Paths) {
		nc, err := net.Dial("tcp", n.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c := newConn(overTLS(nc, certstest.Load(t, p), dialling), 1, time.Now().Add(testTimeout))
		defer c.nc.Close()
		if err := c.authenticate(t.Context()); err != nil {
			t.Fatal(err)
		}
		h := honest(1)
		if err := c.send(&wire.ReleaseMsg{To: 2, Release: wire.Release{Cluster: h.Cluster, Store: h.Store,
			Owner: h.Incarnation, Counters: []uint64{7}}}); err != nil {
			t.Fatal(err)
		}
	}
	say(ca.Node(t, "node-3"))
	n.logs.awaitAll(t, "connection refused", "node 1 comes with the certificate of node-3")
	if len(n.dead) > 0 {
		t.Errorf("released: %v", n.dead)
	}
	say(ca.Node(t, "node-1"))
	n.recorder.await(t, "the release", func() bool { return len(n.dead) == 1 })
}

// TestANodeThatIsRenamedLosesItsConnections: the binding of id and name holds for connections that are open, too.
func TestANodeThatIsRenamedLosesItsConnections(t *testing.T) {
	ca := certstest.New(t, "prod")
	a, b := listen(t, 1, "", secured(t, ca.Node(t, "node-1"))), listen(t, 2, "", secured(t, ca.Node(t, "node-2")))
	m := members(1, 2)
	a.serve(m, b)
	b.serve(m, a)
	b.awaitEvent(t, "+log 1", 1)
	m = members(1, 2)
	m.Change, m.Members[0].Name = 1, "alpha"
	b.SetMembership(m, nil)
	b.awaitEvent(t, "-log 1", 1)
	b.logs.awaitAll(t, "connection refused", "node 1 comes with the certificate of node-1", "lists it as alpha")
}

// A node with a certificate of the cluster, but not the dialled member's, says that this node was removed. It is not
// believed.
func TestAStrangersWordDoesNotCount(t *testing.T) {
	ca := certstest.New(t, "prod")
	files := certstest.Load(t, ca.Node(t, "node-9"))
	l, err := tls.Listen("tcp", "127.0.0.1:0", files.PeerListener())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	told := make(chan struct{}, 16)
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = nc.Write(wire.AppendFrame(nil, wire.EncodeHandshake(&wire.RefuseMsg{Reason: wire.ReasonRemoved, Text: "you are removed"})))
			told <- struct{}{}
			_, _ = io.Copy(io.Discard, nc)
		}
	}()
	n := listen(t, 1, "", func(c *Config, h *wire.Hello) {
		secured(t, ca.Node(t, "node-1"))(c, h)
		c.Removed = func(text string) { t.Errorf("the stranger is believed: %s", text) }
	})
	n.Serve(n, members(1, 2), map[ballot.NodeID]string{2: l.Addr().String()})
	<-told
	n.logs.awaitAll(t, "comes with the certificate of node-9")
}

// Who founds a cluster is listed in it under the name of its certificate.
func TestAFounderIsWhomItSays(t *testing.T) {
	ca := certstest.New(t, "prod")
	list := []wire.Address{{Node: 1, Addr: "a:1"}, {Node: 2, Addr: "b:1"}}
	for cert, ok := range map[string]bool{"node-2": true, "node-9": false} {
		b := &bootstrap{cfg: memory(1, list), tls: certstest.Load(t, ca.Node(t, "node-1")), open: true,
			settled: make(chan struct{})}
		m := members(1, 2)
		err := (&answerer{bootstrap: b}).adoptFound(m.Members[1], cert, &wire.FoundMsg{Cluster: ident.ClusterID{1}, Membership: m})
		var r *Refusal
		if (err == nil) != ok || !ok && (!errors.As(err, &r) || r.Reason != wire.ReasonCertificate) {
			t.Errorf("%s: %v", cert, err)
		}
	}
}
