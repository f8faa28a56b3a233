package transport

import (
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/wire"
)

// changed returns the membership of that Number.
func changed(number uint64, ids ...ballot.NodeID) ident.Membership {
	m := members(ids...)
	m.Number = number
	return m
}

// quick makes a node dial those with lower ids at once.
func quick(c *Config, _ *wire.Hello) { c.DialBack = time.Millisecond }

// with returns m with the addresses of nodes in it.
func with(m ident.Membership, nodes ...*node) ident.Membership {
	for _, n := range nodes {
		for i := range m.Members {
			if m.Members[i].Node == n.cfg.Self {
				m.Members[i].PeerAddr = n.Addr().String()
			}
		}
	}
	return m
}

func awaitAll(t *testing.T, n *node, sign, peer string, times int) {
	t.Helper()
	for _, k := range wire.Kinds {
		n.awaitEvent(t, sign+k.String()+" "+peer, times)
	}
}

func TestMembersComeAndGoWhileServing(t *testing.T) {
	a, b := pair(t, nil) // who dials back soon may replace a connection
	c := listen(t, 3, "", nil)
	three := with(changed(2, 1, 2, 3), a, b, c)
	c.serve(three)
	for _, n := range []*node{a, b} {
		n.SetMembership(three, nil)
		awaitAll(t, n, "+", "3", 1)
		if len(n.Peers()) != 2 || !n.SendLog(3, logBody(1)) {
			t.Fatalf("node %d has %+v", n.cfg.Self, n.Peers())
		}
	}
	awaitAll(t, c, "+", "1", 1)
	awaitAll(t, c, "+", "2", 1)
	two := changed(3, 1, 3)
	a.SetMembership(two, nil)
	c.SetMembership(two, nil)
	if !a.SendLog(2, logBody(2)) || !c.SendLog(2, logBody(2)) {
		t.Error("node 2 is cut off while the others may need it yet")
	}
	a.Dismiss(3)
	c.Dismiss(3)
	awaitAll(t, a, "-", "2", 1)
	awaitAll(t, c, "-", "2", 1)
	a.SetMembership(three, nil) // an older one comes late
	if p := a.Peers(); len(p) != 1 || p[0].Node != 3 || a.SendLog(2, logBody(1)) {
		t.Fatalf("%+v", p)
	}
	for _, n := range []*node{a, c} {
		if h := strings.Join(n.history(), " "); strings.Contains(h, "-lease 3") || strings.Contains(h, "-log 1") {
			t.Errorf("node %d lost a connection that should stay: %s", n.cfg.Self, h)
		}
	}
}

// The part of a node that finds out about a change may be faster than the one that begins to serve.
func TestAMembershipMayComeBeforeServe(t *testing.T) {
	n := listen(t, 1, "", nil)
	n.SetMembership(changed(2, 1, 3), nil)
	n.serve(members(1, 2))
	if p := n.Peers(); len(p) != 1 || p[0].Node != 3 {
		t.Errorf("%+v", p)
	}
}

// Node 1 was away while nodes 2 and 3 were replaced by 4 and 5. It dials removed nodes, and can learn of the change
// only from nodes that it does not know.
func TestANodeThatIsBehindIsDialledByNewMembers(t *testing.T) {
	a, d, e := listen(t, 1, "", quick), listen(t, 4, "", quick), listen(t, 5, "", quick)
	now := with(changed(5, 1, 4, 5), a, d, e)
	a.serve(members(1, 2, 3))
	d.serve(now)
	e.serve(now)
	for _, peer := range []string{"4", "5"} {
		awaitAll(t, a, "+", peer, 1)
	}
	if !a.SendLog(4, logBody(1)) {
		t.Error("what it asks is not sent")
	}
	a.SetMembership(changed(4, 1, 3, 4), nil) // still behind
	a.SetMembership(now, nil)
	a.Dismiss(5)
	d.recorder.await(t, "the frame", func() bool { return len(d.log) == 1 })
	if p := a.Peers(); len(p) != 2 || !p[0].Log.Connected || !p[1].Log.Connected {
		t.Errorf("%+v", p)
	}
	for _, ev := range a.history() {
		if strings.HasPrefix(ev, "-") {
			t.Errorf("lost a connection: %s", ev)
		}
	}
}

func TestARemovedNodeIsToldSo(t *testing.T) {
	for name, gone := range map[string]ballot.NodeID{"which dials": 1, "which is dialled, but dials back": 3} {
		t.Run(name, func(t *testing.T) {
			told := make(chan string, 100)
			old := listen(t, gone, "", func(c *Config, _ *wire.Hello) {
				quick(c, nil)
				c.Removed = func(text string) { told <- text }
			})
			b := listen(t, 2, "", quick)
			m := changed(1, 1, 2, 3)
			m.Change = 7
			old.serve(m, b)
			b.Dismiss(2)
			b.serve(changed(2, 2, 4-gone), old)
			select {
			case text := <-told:
				for _, w := range []string{"no member of cluster", "membership 1,", "membership 2 {", "node 2", "joins"} {
					if !strings.Contains(text, w) {
						t.Errorf("%q is not in: %s", w, text)
					}
				}
			case <-time.After(testTimeout):
				t.Fatal("not told")
			}
			if h := append(old.history(), b.history()...); len(h) > 0 {
				t.Errorf("connected: %v", h)
			}
		})
	}
}

// A node without a membership that lists it, and with no newer one, is a stranger, not one that was removed.
func TestAStrangerIsNotCalledRemoved(t *testing.T) {
	h := honest(3)
	for _, c := range []struct {
		number, change uint64
		want           wire.Reason
	}{{2, 5, wire.ReasonNotMember}, {2, 4, wire.ReasonRemoved}, {0, 0, wire.ReasonRemoved}, {2, 6, 0}, {3, 0, 0}} {
		m := changed(2, 1, 2)
		m.Change = 5
		h.Membership, h.Change = c.number, c.change
		r := checkMember(&h, &table{membership: m, dismissed: 2}, 1)
		if (r == nil) != (c.want == 0) || r != nil && r.Reason != c.want {
			t.Errorf("membership %d.%d: %v, want reason %d", c.number, c.change, r, c.want)
		}
	}
}

func TestUnknownPeersAreBounded(t *testing.T) {
	n := listen(t, 2, "", func(_ *Config, h *wire.Hello) { h.ClientAddr = "" })
	n.serve(members(1, 2))
	for i := range ballot.NodeID(maxUnknown) {
		newer := honest(10 + i)
		newer.Membership, newer.ClientAddr = 2, ""
		dumb(t, n.Addr().String(), newer, 2, wire.KindLog)
		n.recorder.await(t, "the connection", func() bool { return len(n.events) == int(i)+1 })
	}
	late := honest(50)
	late.Membership, late.ClientAddr = 2, ""
	dumb(t, n.Addr().String(), late, 2, wire.KindLog)
	n.logs.awaitAll(t, "takes no connection to node 50", "16 nodes already")
	if got := len(n.Peers()); got != maxUnknown+1 {
		t.Errorf("%d peers", got)
	}
	n.Dismiss(3)
	n.SetMembership(changed(3, 1, 2), nil)
	n.recorder.await(t, "the end of all", func() bool { return len(n.events) == 2*maxUnknown })
	if got := len(n.Peers()); got != 1 {
		t.Errorf("%d peers are left", got)
	}
}

// A connection whose handshake ended just before its peer was removed is not served.
func TestAPeerThatIsRemovedMeanwhileIsNotServed(t *testing.T) {
	n := listen(t, 2, "", nil)
	n.serve(members(1, 2))
	left, right := net.Pipe()
	defer right.Close()
	p, l := linked(n, wire.KindLog, left)
	n.SetMembership(changed(2, 2, 3), nil)
	n.Dismiss(2)
	if err := p.run(l, n); err != errRemoved || len(n.history()) > 0 {
		t.Fatalf("ended with %v, events %v", err, n.history())
	}
}

// The address of a member is that of the membership, and a new one is dialled from then on.
func TestAddressesComeFromTheMembership(t *testing.T) {
	a, b := listen(t, 1, "", nil), listen(t, 2, "", nil)
	nowhere := map[ballot.NodeID]string{2: "127.0.0.1:1"}
	b.serve(members(1, 2))
	a.Serve(a, members(1, 2), nowhere)
	a.logs.awaitAll(t, "peer cannot be reached", "127.0.0.1:1")
	m := with(members(1, 2), b)
	m.Change = 1
	a.SetMembership(m, nowhere)
	awaitAll(t, a, "+", "2", 1)
	if got := a.Peers()[0].Addr; got != b.Addr().String() {
		t.Errorf("dialled at %s", got)
	}
}

// A node that has joined was told addresses that are in no membership. It keeps them: else it could not reach the
// members after its removal, and would not learn of it.
func TestAddressesOutliveTheirMembership(t *testing.T) {
	a, b := listen(t, 1, "", nil), listen(t, 2, "", nil)
	a.serve(with(members(1, 2, 3), b))
	for number := range uint64(2) {
		a.Dismiss(2 + number)
		a.SetMembership(changed(2+number, 1, 2), nil)
		if p := a.Peers(); len(p) != 1 || p[0].Addr != b.Addr().String() {
			t.Errorf("after change %d: %+v", number+1, p)
		}
	}
	a.SetMembership(changed(4, 1, 2), map[ballot.NodeID]string{2: "127.0.0.1:1"})
	if p := a.Peers(); p[0].Addr != "127.0.0.1:1" {
		t.Errorf("with a newer hint: %+v", p)
	}
}

// While a node replaces another one on the same machine, both have one address.
func TestANodeDoesNotDialItself(t *testing.T) {
	n := listen(t, 4, "", quick)
	m := with(changed(2, 1, 3, 4), n)
	m.Members[1].PeerAddr = n.Addr().String()
	n.serve(m)
	if p := n.Peers(); len(p) != 2 || p[1].Node != 3 || p[1].Addr != "" {
		t.Errorf("%+v", p)
	}
}

// Anybody may connect and call a node removed: it believes only a member that it has dialled itself.
func TestNobodyWhoConnectsIsBelievedThatANodeIsRemoved(t *testing.T) {
	told := make(chan string, 1)
	n := listen(t, 2, "", func(c *Config, _ *wire.Hello) { c.Removed = func(text string) { told <- text } })
	n.serve(members(1, 2))
	w := newConn(dialTo(t, n), 1, time.Now().Add(testTimeout))
	if err := w.send(&wire.HelloMsg{Kind: wire.KindLog, To: 2, Hello: honest(1)}); err != nil {
		t.Fatal(err)
	}
	if _, err := expect[*wire.HelloMsg](w); err != nil {
		t.Fatal(err)
	}
	w.refuse(refuse(wire.ReasonRemoved, "node 2 is out"))
	if _, err := w.nc.Read(make([]byte, 1)); err == nil { // until the node has dealt with it
		t.Error("the connection stays")
	}
	select {
	case text := <-told:
		t.Error(text)
	default:
	}
}

// A node that learns a peer's address while the peer's own connection is up leaves it at that.
func TestNobodyDialsAPeerThatIsConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a, b node
		offline(t, &a, honest(1))
		offline(t, &b, honest(2))
		left, right := net.Pipe()
		endA, endB := piped(&a, wire.KindLog, left), piped(&b, wire.KindLog, right)
		synctest.Wait()
		due := make(chan bool, 2)
		for _, n := range []*node{&a, &b} {
			go func() { due <- n.peers.Load().missing(n.peers.Load().list()[0], wire.KindLog, false) }()
		}
		time.Sleep(time.Hour) // of the bubble
		if len(due) > 0 {
			t.Error("dials while there is a connection")
		}
		left.Close()
		<-endA
		<-endB
		lost := time.Now()
		if first, second := <-due, <-due; !first || !second || time.Since(lost) < a.cfg.DialBack/2 {
			t.Errorf("the node with the higher id dialled after %v", time.Since(lost))
		}
		began := time.Now()
		if higher := b.peers.Load(); !higher.missing(higher.list()[0], wire.KindLog, true) || time.Since(began) > 0 {
			t.Error("the node with the higher id waits again although it could not reach the other")
		}
		a.Close()
		b.Close()
	})
}
