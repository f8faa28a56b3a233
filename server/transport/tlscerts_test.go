package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/certs"
	"tenure/internal/certs/certstest"
	"tenure/server/wire"
)

// meet returns node 1, which is all right, and node 2 with the files of p, after one of them has begun to dial the
// other.
func meet(t *testing.T, one, two certs.Paths, dialled bool) (a, b *node) {
	t.Helper()
	with := func(p certs.Paths) func(*Config, *wire.Hello) {
		return func(cfg *Config, _ *wire.Hello) { cfg.TLS, cfg.DialBack = certstest.Load(t, p), time.Millisecond }
	}
	a, b = listen(t, 1, "", with(one)), listen(t, 2, "", with(two))
	m := members(1, 2)
	if dialled {
		a.serve(m, b)
		b.serve(m)
	} else {
		a.serve(m)
		b.serve(m, a)
	}
	return a, b
}

var directions = map[bool]string{true: ", dialled", false: ", dialling"}

// odd returns the certificate of node 2 with one thing wrong.
func odd(change func(*x509.Certificate)) *x509.Certificate {
	c := certstest.Node("prod", "node-2")
	change(c)
	return c
}

// TestNodesRefuseCertificates: each refusal is a line with its reason in the log of both nodes, and nothing passes
// between them.
func TestNodesRefuseCertificates(t *testing.T) {
	ca, other, test := certstest.New(t, "prod"), certstest.New(t, "prod"), certstest.New(t, "test")
	now := time.Now()
	before := ca.Node(t, "node-2") // of the authority that was retired since
	if _, err := ca.RenewAuthority(certs.AuthorityValidity, now); err != nil {
		t.Fatal(err)
	}
	if _, err := ca.Retire(time.Now()); err != nil {
		t.Fatal(err)
	}
	ours := ca.Signer(t)
	root := certstest.Root(t)
	between := root.Below(t)
	two, unknown := certstest.Node("prod", "node-2"), "none of the authorities that are known here"
	for name, c := range map[string]struct {
		paths certs.Paths // of node 2
		want  string      // said by node 1, of node 2
		other string      // said by node 2 of node 1; "": it hears from node 1 what is wrong
	}{
		"another cluster, whose authority is trusted": {test.Trust(t, test.Node(t, "node-2"), ca),
			"of cluster test, and this node's of cluster prod", "of cluster prod, and this node's of cluster test"},
		"an unknown authority":      {other.Trust(t, other.Node(t, "node-2"), ca), unknown, ""},
		"an authority that is gone": {before, unknown, ""},
		"signed by itself":          {certstest.Signer{}.Sign(t, two, ca.Bundle), unknown, ""},
		"signed by a node":          {certstest.SignerOf(t, ca.Node(t, "node-3")).Sign(t, two, ca.Bundle), unknown, ""},
		"below the cluster's own":   {ours.Below(t).Sign(t, two, ca.Bundle), "too many intermediates", ""},
		"without the link between":  {certstest.Alone(t, between.Sign(t, two, ca.Bundle)), unknown, ""},
		"expired":                   {ca.At(t, certs.RoleNode, "node-2", now.Add(-25*time.Hour)), "it expired on", ""},
		"not yet valid":             {ca.At(t, certs.RoleNode, "node-2", now.Add(time.Hour)), "it is not valid before", ""},
		"another node's name":       {ca.Node(t, "node-3"), "comes with the certificate of node-3, but membership", ""},
		"for signing mail only": {ours.Sign(t, odd(func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageEmailProtection}
		}), ca.Bundle), "incompatible key usage", ""},
	} {
		for _, dialled := range []bool{true, false} {
			t.Run(name+directions[dialled], func(t *testing.T) {
				one := ca.Trust(t, ca.Node(t, "node-1"), test)
				one.CA = root.Bundle(t, one.CA)
				a, b := meet(t, one, c.paths, dialled)
				if c.other != "" { // each refuses the other, and does not listen to it any more
					refused(t, a, c.want)
					refused(t, b, c.other)
				} else {
					refused(t, a, c.want, `"by_peer":false`)
					refused(t, b, c.want, `"by_peer":true`)
				}
				if e := append(a.history(), b.history()...); len(e) > 0 {
					t.Errorf("connected: %v", e)
				}
			})
		}
	}
}

// refused waits until n has said that a connection was refused, with all these words. It fails at once if n is
// connected.
func refused(t *testing.T, n *node, words ...string) {
	t.Helper()
	words = append(words, "connection refused")
	for end := time.Now().Add(testTimeout); n.logs.count(words...) == 0; time.Sleep(time.Millisecond) {
		if e := n.history(); len(e) > 0 {
			t.Fatalf("connected: %v", e)
		}
		if time.Now().After(end) {
			t.Fatalf("no line of the log has %q", words)
		}
	}
}

// withURIs returns the certificate of node 2 with these URIs.
func withURIs(list ...string) *x509.Certificate {
	return odd(func(c *x509.Certificate) {
		c.URIs = nil
		for _, u := range list {
			c.URIs = append(c.URIs, certstest.URI(u))
		}
	})
}

// TestAClientIsNoPeer: a program with a certificate that names no node is no peer, even if the same authority has
// signed it and the program speaks as a node. With such certificates kvnode does not start.
func TestAClientIsNoPeer(t *testing.T) {
	ca := certstest.New(t, "prod")
	ours := ca.Signer(t)
	for name, c := range map[string]struct {
		paths certs.Paths
		want  string
	}{
		"a client":                 {ca.Client(t, "node-2"), "role client, and only nodes are peers"},
		"the authority":            {certs.Paths{Cert: ca.Bundle, Key: filepath.Join(ca.Path, certs.KeyName)}, "role authority, and only nodes"},
		"no URI":                   {ours.Sign(t, withURIs(), ca.Bundle), "names no node"},
		"the URI of somebody else": {ours.Sign(t, withURIs("spiffe://prod/node/node-2"), ca.Bundle), "names no node"},
		"two URIs": {ours.Sign(t, withURIs("tenure://prod/node/node-2", "tenure://prod/client/x"), ca.Bundle),
			"it has 2 URIs of tenure://"},
		"no such role":     {ours.Sign(t, withURIs("tenure://prod/master/node-2"), ca.Bundle), "names no node"},
		"another spelling": {ours.Sign(t, withURIs("tenure://prod/node/node-2/"), ca.Bundle), "names no node"},
	} {
		t.Run(name, func(t *testing.T) { isNoPeer(t, ca, certstest.Load(t, c.paths), c.want) })
	}
}

// isNoPeer has somebody with these files dial a node, and be dialled by it. Both times it must hear why it is refused.
func isNoPeer(t *testing.T, ca *certstest.CA, files *certs.Files, want string) {
	n := listen(t, 1, "", secured(t, ca.Node(t, "node-1")))
	hears := func(nc net.Conn, s side) {
		t.Helper()
		c := newConn(tls.Client(nc, files.PeerDialler()), 2, time.Now().Add(testTimeout))
		if s == listening {
			c = newConn(tls.Server(nc, files.PeerListener()), 2, time.Now().Add(testTimeout))
		}
		defer c.nc.Close()
		_ = c.send(&wire.HelloMsg{Kind: wire.KindLog, To: 1, Hello: honest(2)}) // it may have been refused by now
		var r *Refusal
		if _, err := c.receive(); !errors.As(err, &r) || !strings.Contains(r.Text, want) {
			t.Errorf("answered %v, want %q", err, want)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	n.Serve(n, members(1, 2), map[ballot.NodeID]string{2: l.Addr().String()})
	nc, err := net.Dial("tcp", n.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	hears(nc, dialling)
	if nc, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	hears(nc, listening)
	refused(t, n, want)
}

// TestNodesTakeCertificates of other programs' authorities, if they say what they must.
func TestNodesTakeCertificates(t *testing.T) {
	ca, root := certstest.New(t, "prod"), certstest.Root(t)
	both := root.Bundle(t, ca.Bundle)
	between := root.Below(t)
	for name, paths := range map[string]certs.Paths{
		"another authority":            root.Sign(t, certstest.Node("prod", "node-2"), both),
		"an authority between":         between.Sign(t, certstest.Node("prod", "node-2"), both),
		"two authorities between":      between.Below(t).Sign(t, certstest.Node("prod", "node-2"), both),
		"a URI of another scheme, too": root.Sign(t, withURIs("spiffe://x", "tenure://prod/node/node-2"), both),
		"no host": root.Sign(t, odd(func(c *x509.Certificate) {
			c.DNSNames, c.IPAddresses = nil, nil
		}), both),
	} {
		for _, dialled := range []bool{true, false} {
			t.Run(name+directions[dialled], func(t *testing.T) {
				one := ca.Node(t, "node-1")
				one.CA = both
				a, b := meet(t, one, paths, dialled)
				a.awaitEvent(t, "+log 2", 1)
				b.awaitEvent(t, "+log 1", 1)
			})
		}
	}
}

// TestPeersSpeakTLS13Only, in both directions of dialling.
func TestPeersSpeakTLS13Only(t *testing.T) {
	ca := certstest.New(t, "prod")
	n := listen(t, 1, "", secured(t, ca.Node(t, "node-1")))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	n.Serve(n, members(1, 2), map[ballot.NodeID]string{2: l.Addr().String()})
	old := &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12,
		Certificates: []tls.Certificate{*certstest.Load(t, ca.Node(t, "node-2")).Certificate()}}
	if c, err := tls.Dial("tcp", n.Addr().String(), old); err == nil {
		c.Close()
		t.Error("a peer that dialled speaks TLS 1.2")
	} else if !strings.Contains(err.Error(), "protocol version") {
		t.Error(err)
	}
	nc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	var header tls.RecordHeaderError
	if err := tls.Server(nc, old).HandshakeContext(t.Context()); err == nil || errors.As(err, &header) {
		t.Errorf("a peer that was dialled speaks TLS 1.2: %v", err)
	}
	if e := n.history(); len(e) > 0 {
		t.Errorf("connected: %v", e)
	}
}
