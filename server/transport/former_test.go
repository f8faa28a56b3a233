package transport

import (
	"errors"
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

// roster is the members' record that lists these ids and has removed these names.
func roster(m ident.Membership, next ballot.NodeID, removed ...string) ident.Roster {
	return ident.Roster{Membership: m, NextNode: next, Removed: removed}
}

// connects has the node of h, with files for TLS, connect to node n, and returns what n says to that: "" if it takes
// the node as a peer.
func connects(t *testing.T, n *node, p certs.Paths, h wire.Hello) (wire.Reason, string) {
	t.Helper()
	nc, err := net.Dial("tcp", n.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	if !p.IsZero() {
		nc = overTLS(nc, certstest.Load(t, p), dialling)
	}
	c := newConn(nc, h.Node, time.Now().Add(testTimeout))
	if err := c.authenticate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.send(&wire.HelloMsg{Kind: wire.KindLog, To: n.cfg.Self, Hello: h}); err != nil {
		t.Fatal(err)
	}
	var r *Refusal
	if _, err = c.receive(); err == nil {
		err = c.send(&wire.ReadyMsg{})
	}
	if errors.As(err, &r) {
		return r.Reason, r.Text
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, ""
}

// claims returns the hello of node id with that membership.
func claims(id ballot.NodeID, membership uint64) wire.Hello {
	h := honest(id)
	h.Membership = membership
	return h
}

const far = 1 << 60

// An id that was a member's is refused, whatever membership its node claims, also without TLS.
func TestAnIdOfBeforeIsRefusedWhateverItClaims(t *testing.T) {
	for what, c := range map[string]struct {
		node      ballot.NodeID
		next      ballot.NodeID // in the record; 0: it is not known
		dismissed uint64
		claims    uint64
		want      wire.Reason
	}{
		"the removed one":                           {node: 3, next: 5, dismissed: 2, claims: far, want: wire.ReasonRemoved},
		"before the others need it no more":         {node: 3, next: 5, claims: far, want: wire.ReasonRemoved},
		"as it is, and the others may need it":      {node: 3, next: 5, claims: 1},
		"as it is, and the others need it no more":  {node: 3, next: 5, dismissed: 2, claims: 1, want: wire.ReasonRemoved},
		"the newest that was removed":               {node: 4, next: 5, dismissed: 2, claims: far, want: wire.ReasonRemoved},
		"the next one, of which this node may hear": {node: 5, next: 5, dismissed: 2, claims: far},
		"without a record":                          {node: 1, dismissed: 2, claims: far, want: wire.ReasonRemoved},
		"without a record, above all":               {node: 3, dismissed: 2, claims: far},
	} {
		t.Run(what, func(t *testing.T) {
			n := listen(t, 2, "", nil)
			m := changed(2, 2)
			n.SetRoster(roster(m, c.next))
			n.Dismiss(c.dismissed)
			n.serve(m)
			got, text := connects(t, n, certs.Paths{}, claims(c.node, c.claims))
			said := strings.Contains(text, "no member of cluster") && strings.Contains(text, "joins")
			if got != c.want || c.want != 0 && !said {
				t.Errorf("reason %v, want %v: %s", got, c.want, text)
			}
		})
	}
}

// A node with the certificate of a removed member is refused under every id, unless a member has that name.
func TestACertificateOfARemovedNameIsRefused(t *testing.T) {
	ca := certstest.New(t, "prod")
	m := changed(2, 1, 2)
	for what, c := range map[string]struct {
		cert      string
		node      ballot.NodeID
		dismissed uint64
		claims    uint64
		want      wire.Reason
	}{
		"under an id of nobody":              {cert: "gone", node: 9, dismissed: 2, claims: far, want: wire.ReasonCertificate},
		"before the others need it no more":  {cert: "gone", node: 9, claims: far, want: wire.ReasonCertificate},
		"as it is, and others may need it":   {cert: "gone", node: 3, claims: 1},
		"of a name that was never a member":  {cert: "new", node: 9, dismissed: 2, claims: far},
		"of a name that a member has":        {cert: "node-1", node: 1, dismissed: 2, claims: far},
		"of that member, but for another id": {cert: "node-1", node: 9, dismissed: 2, claims: far},
	} {
		t.Run(what, func(t *testing.T) {
			n := listen(t, 2, "", secured(t, ca.Node(t, "node-2")))
			n.SetRoster(roster(m, 4, "gone", "node-1"))
			n.Dismiss(c.dismissed)
			n.serve(m)
			got, text := connects(t, n, ca.Node(t, c.cert), claims(c.node, c.claims))
			if got != c.want || c.want != 0 && !strings.Contains(text, "kvctl member readmit gone") {
				t.Errorf("reason %v, want %v: %s", got, c.want, text)
			}
		})
	}
}

// Without TLS a name proves nothing: nobody is refused for one.
func TestWithoutTLSNamesAreNotCompared(t *testing.T) {
	n := listen(t, 2, "", nil)
	n.SetRoster(roster(members(1, 2), 3, "node-9", ""))
	n.serve(members(1, 2))
	if got, text := connects(t, n, certs.Paths{}, claims(9, far)); got != 0 {
		t.Errorf("reason %v: %s", got, text)
	}
}

// patient makes a node keep connections on which nothing is heard.
func patient(c *Config, _ *wire.Hello) { c.IdleTimeout = 3 * testTimeout }

// A name is removed, or an id given out, while a node is connected that the membership does not list.
func TestOpenConnectionsOfTheRemovedEnd(t *testing.T) {
	ca := certstest.New(t, "prod")
	m := members(1, 2)
	for what, c := range map[string]struct {
		roster ident.Roster
		ends   bool
	}{
		"its name is removed":        {roster(m, 3, "gone"), true},
		"its id is given out":        {roster(m, 10), true},
		"another name is removed":    {roster(m, 3, "other"), false},
		"it becomes a member itself": {roster(changed(2, 1, 2, 9), 10, "gone"), false},
	} {
		t.Run(what, func(t *testing.T) {
			n := listen(t, 2, "", func(c *Config, h *wire.Hello) {
				secured(t, ca.Node(t, "node-2"))(c, h)
				patient(c, h)
			})
			n.serve(m)
			if got, text := connects(t, n, ca.Node(t, "gone"), claims(9, far)); got != 0 {
				t.Fatalf("reason %v: %s", got, text)
			}
			n.awaitEvent(t, "+log 9", 1)
			if what == "it becomes a member itself" {
				c.roster.Membership.Members[2].Name = "gone"
			}
			n.SetRoster(c.roster)
			if c.ends {
				n.awaitEvent(t, "-log 9", 1)
				return
			}
			if !n.SendLog(9, logBody(1)) {
				t.Error("its connection has ended")
			}
		})
	}
}

// A removed member loses its connections when the others no longer need it, although it claims a newer membership than
// any.
func TestARemovedMemberThatLiesLosesItsConnections(t *testing.T) {
	n := listen(t, 2, "", patient)
	n.serve(members(1, 2))
	if got, text := connects(t, n, certs.Paths{}, claims(1, far)); got != 0 {
		t.Fatalf("reason %v: %s", got, text)
	}
	n.awaitEvent(t, "+log 1", 1)
	n.SetMembership(changed(2, 2), nil)
	n.SetRoster(roster(changed(2, 2), 3, "node-1"))
	n.Dismiss(2)
	n.awaitEvent(t, "-log 1", 1)
}

// The name may be removed between the handshake and the moment at which the connection is one of the peer.
func TestANodeThatIsBarredMeanwhileIsNotServed(t *testing.T) {
	n := listen(t, 2, "", nil)
	n.serve(members(1, 2))
	left, right := net.Pipe()
	defer right.Close()
	p, l := linked(n, wire.KindLog, left)
	l.barred = func() bool { return true }
	done := make(chan error, 1)
	go func() { done <- p.run(l, n) }()
	if _, err := right.Read(make([]byte, 1)); err == nil {
		t.Error("it is served")
	}
	right.Close()
	if err := <-done; err != errRemoved || len(n.history()) > 0 {
		t.Fatalf("ended with %v, events %v", err, n.history())
	}
}

// A certificate holds one of the places for nodes that the membership does not list, whatever ids its node invents.
func TestOneCertificateHoldsOnePlace(t *testing.T) {
	ca := certstest.New(t, "prod")
	n := listen(t, 2, "", func(c *Config, h *wire.Hello) {
		secured(t, ca.Node(t, "node-2"))(c, h)
		patient(c, h)
	})
	n.serve(members(1, 2))
	greedy := ca.Node(t, "greedy")
	for i := range ballot.NodeID(maxUnknown + 1) {
		if got, text := connects(t, n, greedy, claims(10+i, far)); got != 0 {
			t.Fatalf("id %d: reason %v: %s", 10+i, got, text)
		}
		n.recorder.await(t, "the end of the one before", func() bool { return len(n.events) == 2*int(i)+1 })
	}
	if got, text := connects(t, n, ca.Node(t, "other"), claims(9, far)); got != 0 {
		t.Errorf("another certificate: reason %v: %s", got, text)
	}
	n.recorder.await(t, "the other one", func() bool { return len(n.events) == 2*maxUnknown+2 })
	if got := len(n.Peers()); got != 3 {
		t.Errorf("%d peers, want the member, the last of the one certificate and the other", got)
	}
}
