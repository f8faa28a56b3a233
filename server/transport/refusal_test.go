package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/wire"
)

// A node that takes the place of another one, with its address and name, is no mistake that an operator is to mend.
func TestARescueIsNoMistake(t *testing.T) {
	m := changed(2, 1, 2, 3, 4)
	m.Members[2].Name, m.Members[3].Name = "n3", "n3"
	if r := wrongNode(3, 4, m); r.Reason != wire.ReasonNotReady || strings.Contains(r.Text, "update") ||
		!strings.Contains(r.Text, "node 4 takes the place of node 3, n3") {
		t.Errorf("%+v", r)
	}
	if r := wrongNode(3, 5, m); r.Reason != wire.ReasonNode || strings.Contains(r.Text, "update") {
		t.Errorf("of a node that is no member yet: %+v", r)
	}
	if r := wrongNode(9, 4, m); r.Reason != wire.ReasonNotReady || strings.Contains(r.Text, "update") ||
		!strings.Contains(r.Text, "node 9, for which node 4, n3, answers, is not in membership 2") {
		t.Errorf("of a node that is a member no more: %+v", r)
	}
	if r := wrongNode(2, 4, m); r.Reason != wire.ReasonNode || !strings.Contains(r.Text, "kvctl member update node-2 ") {
		t.Errorf("of a node at the address of another one: %+v", r)
	}
}

// Every refusal is seen by both nodes, with the same words, and no frame flows.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		reason wire.Reason
		change func(h *wire.Hello) // of node 2
		m2     ident.Membership
		words  []string
	}{
		"cluster id": {wire.ReasonCluster, func(h *wire.Hello) { h.Cluster = ident.ClusterID{0xdd} }, members(1, 2),
			[]string{"cluster", ident.ClusterID{0xcc}.String(), ident.ClusterID{0xdd}.String()}},
		"another node": {wire.ReasonNode, func(h *wire.Hello) { h.Node, h.Incarnation.Node = 3, 3 }, members(1, 2),
			[]string{"gives for node 2", "leads to node 3"}},
		"another node, since": {wire.ReasonNode, func(h *wire.Hello) { h.Node, h.Incarnation.Node = 3, 3 }, changed(2, 1, 2, 3),
			[]string{"of node 2 leads to node 3, node-3", "kvctl member update node-2 --peer-address"}},
		"same id": {wire.ReasonNode, func(h *wire.Hello) { h.Node, h.Incarnation.Node = 1, 1 }, members(1, 2),
			[]string{"gives for node 2", "leads to node 1"}},
		"itself": {wire.ReasonSelf, func(h *wire.Hello) { h.Node, h.Incarnation = 1, honest(1).Incarnation },
			members(1, 2),
			[]string{"node 1 has reached itself"}},
		"store": {wire.ReasonStore, func(h *wire.Hello) { h.Store = store(9) }, members(1, 2),
			[]string{"node 2", store(2).String(), store(9).String(), "wiped"}},
		"membership": {wire.ReasonNotMember, func(*wire.Hello) {}, members(2, 3),
			[]string{"node 1 is not in membership"}},
		"lease time": {wire.ReasonConstants, func(h *wire.Hello) { h.Constants.LeaseTime = 2 * time.Second },
			members(1, 2),
			[]string{"--lease-time is", "1s on node 1", "2s on node 2"}},
		"max lease time": {wire.ReasonConstants, func(h *wire.Hello) { h.Constants.MaxLeaseTime = time.Minute },
			members(1, 2),
			[]string{"--max-lease-time is", "30s on node 1", "1m0s on node 2"}},
		"drift": {wire.ReasonConstants, func(h *wire.Hello) { h.Constants.DriftPPM = 10001 }, members(1, 2),
			[]string{"--clock-drift is", "10000 ppm on node 1", "10001 ppm on node 2"}},
		"margin": {wire.ReasonConstants, func(h *wire.Hello) { h.Constants.Margin = 0 }, members(1, 2),
			[]string{"--lease-margin is", "10ms on node 1", "0s on node 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := listen(t, 1, "", nil)
			b := listen(t, 2, "", func(_ *Config, h *wire.Hello) { c.change(h) })
			b.serve(c.m2, a)
			a.serve(members(1, 2), b)
			a.logs.awaitAll(t, append(c.words, "connection refused")...)
			b.logs.awaitAll(t, append(c.words, "connection refused")...)
			if len(a.history())+len(b.history()) > 0 {
				t.Fatalf("connected all the same: %v %v", a.events, b.events)
			}
			if p := a.Peers()[0]; p.Lease.Connected || !strings.Contains(p.Problem, c.words[0]) {
				t.Fatalf("%+v", p)
			}
			ours, theirs := honest(1), honest(2)
			c.change(&theirs)
			if r := checkHello(&ours, &theirs, &table{membership: members(1, 2)}, 2, theirs.Node); name != "membership" &&
				(r == nil || r.Reason != c.reason) {
				t.Fatalf("reason %v", r)
			}
		})
	}
}

func TestRefusalOfAStoreThatWentBack(t *testing.T) {
	marks := wire.Marks{Promised: ballot.Ballot{Counter: 5, Node: 2}, Accepted: 40}
	for name, c := range map[string]struct {
		inc   ballot.Incarnation
		marks wire.Marks
		words []string
	}{
		"same restart counter": {ballot.Incarnation{Restart: 1, Node: 2, Nonce: 9}, marks,
			[]string{"restart counter", "2.1:"}},
		"lower counter": {ballot.Incarnation{Node: 2, Nonce: 9}, marks, []string{"restart counter", "2.0:", "2.1:"}},
		"lower promise": {ballot.Incarnation{Restart: 2, Node: 2, Nonce: 9},
			wire.Marks{Promised: ballot.Ballot{Counter: 4, Node: 7}, Accepted: 40},
			[]string{"rolled back", "4@7.0", "5@2.0"}},
		"lower log": {ballot.Incarnation{Restart: 2, Node: 2, Nonce: 9},
			wire.Marks{Promised: marks.Promised, Accepted: 39},
			[]string{"rolled back", "slot 39", "slot 40"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := listen(t, 1, "", nil)
			b := listen(t, 2, "", func(_ *Config, h *wire.Hello) { h.Marks = marks })
			addr := b.Addr().String()
			a.serve(members(1, 2), b)
			b.serve(members(1, 2), a)
			a.awaitEvent(t, "+log 2", 1)
			a.awaitEvent(t, "+lease 2", 1)
			b.Close()
			a.awaitEvent(t, "-log 2", 1)
			a.awaitEvent(t, "-lease 2", 1)
			b = listen(t, 2, addr, func(_ *Config, h *wire.Hello) { h.Incarnation, h.Marks = c.inc, c.marks })
			b.serve(members(1, 2), a)
			a.logs.awaitAll(t, append(c.words, "connection refused")...)
			b.logs.awaitAll(t, append(c.words, "connection refused", `"by_peer":true`)...)
			if len(b.history()) > 0 {
				t.Fatalf("connected all the same: %v", b.events)
			}
		})
	}
}

func TestHistoryComparesMarksAcrossRunsOnly(t *testing.T) {
	var s History
	at := func(restart, promised, accepted uint64) *wire.Hello {
		h := honest(2)
		h.Incarnation.Restart, h.Incarnation.Nonce = restart, restart
		h.Marks = wire.Marks{Promised: ballot.Ballot{Counter: promised}, Accepted: accepted}
		return &h
	}
	for i, c := range []struct {
		h    *wire.Hello
		want wire.Reason
	}{
		{at(1, 5, 5), 0},
		{at(1, 3, 4), 0}, // said before the first, arrived after it
		{at(2, 5, 4), wire.ReasonRolledBack},
		{at(2, 5, 5), 0},
		{at(2, 9, 5), 0},
		{at(2, 4, 5), wire.ReasonRolledBack}, // below what the first run had
		{at(1, 9, 9), wire.ReasonRestart},
		{at(4, 8, 9), wire.ReasonRolledBack},
		{at(4, 9, 9), 0},
	} {
		r := s.Admit(c.h)
		if (r == nil) != (c.want == 0) || r != nil && r.Reason != c.want {
			t.Fatalf("step %d: %v, want reason %d", i, r, c.want)
		}
	}
	other := at(1, 0, 0)
	other.Store = store(8)
	if r := s.Admit(other); r != nil {
		t.Fatalf("another store: %v", r)
	}
}

func TestRefusalOfAnotherVersion(t *testing.T) {
	n := listen(t, 2, "", nil)
	n.serve(members(1, 2))
	nc, err := net.Dial("tcp", n.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	hello := wire.EncodeHandshake(&wire.HelloMsg{Kind: wire.KindLog, To: 2, Hello: honest(1)})
	binary.BigEndian.PutUint16(hello[5:], wire.Version+8)
	writeFrames(t, nc, hello)
	_, err = newConn(nc, 0, time.Now().Add(testTimeout)).receive()
	var r *Refusal
	ours, theirs := fmt.Sprintf("version %d ", wire.Version), fmt.Sprintf("version %d", wire.Version+8)
	if !errors.As(err, &r) || r.Reason != wire.ReasonVersion || !r.ByPeer || !strings.Contains(r.Text, ours) ||
		!strings.Contains(r.Text, theirs) {
		t.Fatalf("%v", err)
	}
	n.logs.awaitAll(t, "connection refused", theirs)
}

// A listener of another version answers a dialler, which says so too.
func TestDiallerRefusesAnotherVersion(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	n := listen(t, 1, "", nil)
	n.Serve(n, members(1, 2), map[ballot.NodeID]string{2: l.Addr().String()})
	nc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	w := newConn(nc, 0, time.Now().Add(testTimeout))
	if _, err := w.receive(); err != nil {
		t.Fatal(err)
	}
	hello := wire.EncodeHandshake(&wire.HelloMsg{Kind: wire.KindLog, To: 1, Hello: honest(2)})
	binary.BigEndian.PutUint16(hello[5:], wire.Version+1)
	writeFrames(t, nc, hello)
	var r *Refusal
	if _, err := w.receive(); !errors.As(err, &r) || r.Reason != wire.ReasonVersion {
		t.Fatalf("%v", err)
	}
	n.logs.awaitAll(t, "connection refused", fmt.Sprintf("version %d", wire.Version+1))
}

func TestNotServingIsNotReady(t *testing.T) {
	a, b := listen(t, 1, "", nil), listen(t, 2, "", nil)
	a.serve(members(1, 2), b)
	a.logs.awaitAll(t, "node 2 takes no part in a cluster yet")
	b.serve(members(1, 2), a)
	a.awaitEvent(t, "+lease 2", 1)
	a.awaitEvent(t, "+log 2", 1)
	if p := a.Peers()[0]; p.Problem != "" {
		t.Fatalf("%+v", p)
	}
}

func TestHandshakeHasADeadline(t *testing.T) {
	n := listen(t, 2, "", func(c *Config, _ *wire.Hello) { c.HandshakeTimeout = 50 * time.Millisecond })
	n.serve(members(1, 2))
	nc, err := net.Dial("tcp", n.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(testTimeout))
	if _, err := nc.Read(make([]byte, 1)); err == nil || errors.Is(err, errDeadline) {
		t.Fatalf("the stranger was kept: %v", err)
	}
}

var errDeadline = func() error {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	a.SetReadDeadline(time.Unix(1, 0))
	_, err := a.Read(make([]byte, 1))
	return err
}()

func TestRareLinesAreFew(t *testing.T) {
	var q lineLimit
	now := time.Unix(1000, 0)
	n := 0
	for i := range 10 * maxLines {
		for range 3 {
			if q.allow(strangers, fmt.Sprint(i), now) {
				n++
			}
		}
	}
	if n != maxLines {
		t.Fatalf("%d lines", n)
	}
	if !q.allow(strangers, "0", now.Add(logEvery)) || q.allow(strangers, "0", now.Add(logEvery)) {
		t.Fatal("a complaint is said once in each span")
	}
	q, n = lineLimit{}, 0
	for i := range 10 * maxShares {
		for line := range 2 * maxLines {
			if q.allow(share(fmt.Sprint("certificate ", i)), fmt.Sprint(line), now) {
				n++
			}
		}
	}
	if n > (maxShares+1)*maxLines {
		t.Fatalf("%d lines of all shares", n)
	}
}

// TestStrangersDoNotHideMembers: no lines caused by strangers displace the log's lines about this node, about a member
// that it dials, or about a member that has shown its certificate.
func TestStrangersDoNotHideMembers(t *testing.T) {
	var q lineLimit
	now := time.Unix(1000, 0)
	for i := range 10 * maxLines {
		q.allow((&conn{}).share(), fmt.Sprint("invented ", i), now)
	}
	for _, of := range []share{ofSelf, ofMember(2), ofMember(3), (&conn{cert: "n2"}).share(), (&conn{cert: "n3"}).share()} {
		if !q.allow(of, "refused", now) {
			t.Errorf("a line of %q is hidden", of)
		}
	}
	if q.allow(strangers, "refused", now) {
		t.Error("strangers have more than their share")
	}
}

// TestAFloodOfStrangersLeavesMembersLines has strangers invent nodes before a member that is not there is dialled.
func TestAFloodOfStrangersLeavesMembersLines(t *testing.T) {
	n := listen(t, 1, "", nil)
	n.serve(members(1, 2))
	began := time.Now()
	for i := range 2 * maxLines {
		nc, err := net.Dial("tcp", n.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		hello := honest(2)
		hello.Node, hello.Incarnation.Node = ballot.NodeID(100+i), ballot.NodeID(100+i)
		writeFrames(t, nc, wire.EncodeHandshake(&wire.HelloMsg{Kind: wire.KindLog, To: 1, Hello: hello}))
		var r *Refusal
		if _, err := newConn(nc, 0, time.Now().Add(testTimeout)).receive(); !errors.As(err, &r) || r.Reason != wire.ReasonNotMember {
			t.Fatal(err)
		}
		nc.Close()
	}
	n.logs.await(t, "the lines of strangers", func() bool { return strings.Count(n.logs.text.String(), "refused") >= maxLines })
	m := members(1, 2)
	m.Number++
	n.SetMembership(m, map[ballot.NodeID]string{2: "127.0.0.1:1"}) // nobody listens there
	n.logs.awaitAll(t, "peer cannot be reached")
	if took := time.Since(began); took >= logEvery {
		t.Errorf("the line came after %v, when there was a share for all again", took)
	}
}

// FuzzHello: what strangers say of themselves in a sound handshake is judged without a panic.
func FuzzHello(f *testing.F) {
	f.Add(wire.EncodeHandshake(&wire.HelloMsg{Kind: wire.KindLog, To: 2, Hello: honest(1)}))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := wire.DecodeHandshake(body)
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *wire.AnswerMsg:
			showList(m.List)
		case *wire.HelloMsg:
			ours := honest(1)
			checkHello(&ours, &m.Hello, &table{membership: members(1, 2)}, m.To, 1)
		}
	})
}
