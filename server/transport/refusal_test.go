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
	"tenure/internal/codec"
	"tenure/internal/frame"
	"tenure/internal/ident"
)

// Every refusal is seen by both nodes, with the same words, and no frame flows.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		reason Reason
		change func(h *Hello) // of node 2
		m2     ident.Membership
		words  []string
	}{
		"cluster id": {ReasonCluster, func(h *Hello) { h.Cluster = ident.ClusterID{0xdd} }, members(1, 2),
			[]string{"cluster", ident.ClusterID{0xcc}.String(), ident.ClusterID{0xdd}.String()}},
		"another node": {ReasonNode, func(h *Hello) { h.Node, h.Incarnation.Node = 3, 3 }, members(1, 2),
			[]string{"gives for node 2", "leads to node 3"}},
		"same id": {ReasonNode, func(h *Hello) { h.Node, h.Incarnation.Node = 1, 1 }, members(1, 2),
			[]string{"gives for node 2", "leads to node 1"}},
		"itself": {ReasonSelf, func(h *Hello) { h.Node, h.Incarnation = 1, honest(1).Incarnation }, members(1, 2),
			[]string{"node 1 has reached itself"}},
		"store": {ReasonStore, func(h *Hello) { h.Store = store(9) }, members(1, 2),
			[]string{"node 2", store(2).String(), store(9).String(), "wiped"}},
		"membership": {ReasonNotMember, func(*Hello) {}, members(2, 3), []string{"node 1 is not in membership"}},
		"lease time": {ReasonConstants, func(h *Hello) { h.Constants.LeaseTime = 2 * time.Second }, members(1, 2),
			[]string{"--lease-time is", "1s on node 1", "2s on node 2"}},
		"max lease time": {ReasonConstants, func(h *Hello) { h.Constants.MaxLeaseTime = time.Minute }, members(1, 2),
			[]string{"--max-lease-time is", "30s on node 1", "1m0s on node 2"}},
		"drift": {ReasonConstants, func(h *Hello) { h.Constants.DriftPPM = 10001 }, members(1, 2),
			[]string{"--clock-drift is", "10000 ppm on node 1", "10001 ppm on node 2"}},
		"margin": {ReasonConstants, func(h *Hello) { h.Constants.Margin = 0 }, members(1, 2),
			[]string{"--lease-margin is", "10ms on node 1", "0s on node 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := listen(t, 1, "", nil)
			b := listen(t, 2, "", func(_ *Config, h *Hello) { c.change(h) })
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
			if r := judge(&ours, &theirs, members(1, 2), 2, theirs.Node); name != "membership" && (r == nil || r.Reason != c.reason) {
				t.Fatalf("reason %v", r)
			}
		})
	}
}

func TestRefusalOfAStoreThatWentBack(t *testing.T) {
	marks := Marks{Promised: ballot.Ballot{Counter: 5, Node: 2}, Accepted: 40}
	for name, c := range map[string]struct {
		inc   ballot.Incarnation
		marks Marks
		words []string
	}{
		"same restart counter": {ballot.Incarnation{Restart: 1, Node: 2, Nonce: 9}, marks, []string{"restart counter", "2.1:"}},
		"lower counter":        {ballot.Incarnation{Node: 2, Nonce: 9}, marks, []string{"restart counter", "2.0:", "2.1:"}},
		"lower promise": {ballot.Incarnation{Restart: 2, Node: 2, Nonce: 9}, Marks{Promised: ballot.Ballot{Counter: 4, Node: 7}, Accepted: 40},
			[]string{"rolled back", "4@7.0", "5@2.0"}},
		"lower log": {ballot.Incarnation{Restart: 2, Node: 2, Nonce: 9}, Marks{Promised: marks.Promised, Accepted: 39},
			[]string{"rolled back", "slot 39", "slot 40"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := listen(t, 1, "", nil)
			b := listen(t, 2, "", func(_ *Config, h *Hello) { h.Marks = marks })
			addr := b.Addr().String()
			a.serve(members(1, 2), b)
			b.serve(members(1, 2), a)
			a.awaitEvent(t, "+log 2", 1)
			a.awaitEvent(t, "+lease 2", 1)
			b.Close()
			a.awaitEvent(t, "-log 2", 1)
			a.awaitEvent(t, "-lease 2", 1)
			b = listen(t, 2, addr, func(_ *Config, h *Hello) { h.Incarnation, h.Marks = c.inc, c.marks })
			b.serve(members(1, 2), a)
			a.logs.awaitAll(t, append(c.words, "connection refused")...)
			b.logs.awaitAll(t, append(c.words, "connection refused", `"by_peer":true`)...)
			if len(b.history()) > 0 {
				t.Fatalf("connected all the same: %v", b.events)
			}
		})
	}
}

func TestSeenComparesMarksAcrossRunsOnly(t *testing.T) {
	var s seen
	at := func(restart, promised, accepted uint64) *Hello {
		h := honest(2)
		h.Incarnation.Restart, h.Incarnation.Nonce = restart, restart
		h.Marks = Marks{Promised: ballot.Ballot{Counter: promised}, Accepted: accepted}
		return &h
	}
	for i, c := range []struct {
		h    *Hello
		want Reason
	}{
		{at(1, 5, 5), 0},
		{at(1, 3, 4), 0}, // said before the first, arrived after it
		{at(2, 5, 4), ReasonRolledBack},
		{at(2, 5, 5), 0},
		{at(2, 9, 5), 0},
		{at(2, 4, 5), ReasonRolledBack}, // below what the first run had
		{at(1, 9, 9), ReasonRestart},
		{at(4, 8, 9), ReasonRolledBack},
		{at(4, 9, 9), 0},
	} {
		r := s.admit(c.h)
		if (r == nil) != (c.want == 0) || r != nil && r.Reason != c.want {
			t.Fatalf("step %d: %v, want reason %d", i, r, c.want)
		}
	}
	other := at(1, 0, 0)
	other.Store = store(8)
	if r := s.admit(other); r != nil {
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
	hello := encodeMsg(&helloMsg{Kind: KindLog, To: 2, Hello: honest(1)})
	binary.BigEndian.PutUint16(hello[len(magic)+1:], Version+8)
	f := frame.NewWriter(nc)
	f.Add(hello)
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	_, err = newWire(nc, time.Now().Add(patience)).receive()
	var r *Refusal
	ours, theirs := fmt.Sprintf("version %d ", Version), fmt.Sprintf("version %d", Version+8)
	if !errors.As(err, &r) || r.Reason != ReasonVersion || !r.ByPeer || !strings.Contains(r.Text, ours) || !strings.Contains(r.Text, theirs) {
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
	w := newWire(nc, time.Now().Add(patience))
	if _, err := w.receive(); err != nil {
		t.Fatal(err)
	}
	hello := encodeMsg(&helloMsg{Kind: KindLog, To: 1, Hello: honest(2)})
	binary.BigEndian.PutUint16(hello[len(magic)+1:], Version+1)
	f := frame.NewWriter(nc)
	f.Add(hello)
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	var r *Refusal
	if _, err := w.receive(); !errors.As(err, &r) || r.Reason != ReasonVersion {
		t.Fatalf("%v", err)
	}
	n.logs.awaitAll(t, "connection refused", fmt.Sprintf("version %d", Version+1))
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
	n := listen(t, 2, "", func(c *Config, _ *Hello) { c.HandshakeTimeout = 50 * time.Millisecond })
	n.serve(members(1, 2))
	nc, err := net.Dial("tcp", n.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(patience))
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

func TestHostileTextIsMadePlain(t *testing.T) {
	m := encodeMsg(&refuseMsg{Reason: ReasonNode, Text: "a\x1b[2J\nb\xff" + strings.Repeat("x", 2*maxTextBytes)})
	got, err := decodeMsg(m)
	if err != nil {
		t.Fatal(err)
	}
	if text := got.(*refuseMsg).Text; !strings.HasPrefix(text, "a?[2J?b?x") || len(text) > maxTextBytes {
		t.Fatalf("%d bytes: %.20q", len(text), text)
	}
}

func TestComplaintsAreFew(t *testing.T) {
	var q quiet
	now := time.Unix(1000, 0)
	n := 0
	for i := range 10 * maxComplaints {
		for range 3 {
			if q.allow(fmt.Sprint(i), now) {
				n++
			}
		}
	}
	if n != maxComplaints {
		t.Fatalf("%d lines", n)
	}
	if !q.allow("0", now.Add(logEvery)) || q.allow("0", now.Add(logEvery)) {
		t.Fatal("a complaint is said once in each span")
	}
}

func wireSamples() []any {
	list := []Address{{1, "a:1"}, {2, "b:2"}}
	return []any{
		&helloMsg{KindLease, 2, honest(1)}, &readyMsg{}, &refuseMsg{ReasonStore, "text"},
		&askMsg{1, 2, store(1), list}, &answerMsg{Node: 2, Store: store(2), List: list},
		&answerMsg{2, store(2), list, ident.ClusterID{1}, members(1, 2), true}, &foundMsg{ident.ClusterID{1}, members(1, 2)}, &formedMsg{},
		&releaseMsg{2, dead(1)},
	}
}

func TestMessagesRoundTrip(t *testing.T) {
	for _, m := range wireSamples() {
		got, err := decodeMsg(encodeMsg(m))
		if err != nil || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", m) {
			if fmt.Sprintf("%+v", got) == fmt.Sprintf("%+v", m) { // pointers differ
				continue
			}
			t.Errorf("%+v became %+v, %v", m, got, err)
		}
	}
}

func TestMessagesThatCannotBeTrustedAreMalformed(t *testing.T) {
	tall := members(1, 2, 3, 4, 5, 6, 7, 8)
	twice := members(2, 2)
	foreign := honest(1)
	foreign.Incarnation.Node = 2
	zero := honest(0)
	long := honest(1)
	long.ClientAddr = strings.Repeat("a", 300)
	for i, m := range []any{
		&helloMsg{Kind: KindNamed + 1, Hello: honest(1)}, &helloMsg{Kind: KindLog, Hello: foreign}, &helloMsg{Kind: KindLog, Hello: zero}, &helloMsg{Kind: KindLog, Hello: long},
		&askMsg{From: 1, To: 2, List: []Address{{1, "a:1"}}}, &askMsg{From: 1, Store: store(1)}, &askMsg{From: 1, Store: store(1), List: []Address{{2, "a"}, {1, "b"}}},
		&askMsg{From: 1, Store: store(1), List: []Address{{1, "a\x1b"}}},
		&answerMsg{Node: 1, Store: store(1), List: []Address{{1, "a"}}, Cluster: ident.ClusterID{1}},
		&foundMsg{Membership: members(1)}, &foundMsg{ident.ClusterID{1}, tall}, &foundMsg{ident.ClusterID{1}, twice},
		&releaseMsg{To: 2, Release: Release{Owner: honest(1).Incarnation, Counters: []uint64{1}}}, &releaseMsg{Release: dead(1)},
	} {
		if got, err := decodeMsg(encodeMsg(m)); !errors.Is(err, errMalformed) {
			t.Errorf("message %d: %+v, %v", i, got, err)
		}
	}
}

func FuzzDecodeMsg(f *testing.F) {
	for _, m := range wireSamples() {
		f.Add(encodeMsg(m))
	}
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeMsg(b)
		if err != nil {
			var v *versionError
			if !errors.Is(err, errMalformed) && !errors.As(err, &v) {
				t.Fatalf("%v", err)
			}
			return
		}
		if len(encodeMsg(m)) > 4*len(b)+maxHandshakeBytes {
			t.Fatalf("%d bytes became %+v", len(b), m)
		}
		switch m := m.(type) { // what is done with them must not panic either
		case *foundMsg:
			m.Membership.Voters()
		case *answerMsg:
			m.Membership.Voters()
			showList(m.List)
		case *releaseMsg:
			if n := len(m.Release.Counters); n > MaxReleaseCounters {
				t.Fatalf("%d counters", n)
			}
		case *helloMsg:
			ours := honest(1)
			judge(&ours, &m.Hello, members(1, 2), m.To, 1)
		}
	})
}

func FuzzMarks(f *testing.F) {
	f.Add(codec.Marshal(Marks{Accepted: 3}))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Marks
		_ = codec.Unmarshal(b, &m)
	})
}
