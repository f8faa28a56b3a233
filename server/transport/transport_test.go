package transport

import (
	"bytes"
	"encoding/binary"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/server/wire"
)

func TestFramesFlowBothWaysInOrder(t *testing.T) {
	a, b := pair(t, nil)
	for from, to := range map[*node]*node{a: b, b: a} {
		big := logBody(9 << 20)
		for i := range 500 {
			number := binary.BigEndian.AppendUint32(nil, uint32(i))
			if !from.SendLease(to.cfg.Self, leaseBody(1, number...)) ||
				!from.SendLog(to.cfg.Self, logBody(1, number...)) {
				t.Fatal("not sent")
			}
		}
		if !from.SendLog(to.cfg.Self, big) {
			t.Fatal("big frame not sent")
		}
		to.await(t, "all frames", func() bool { return len(to.lease) == 500 && len(to.log) == 501 })
		for _, got := range [][][]byte{to.lease, to.log[:500]} {
			if !slices.IsSortedFunc(got, bytes.Compare) {
				t.Fatal("out of order")
			}
		}
		if !bytes.Equal(to.log[500], big) {
			t.Fatal("the big frame changed")
		}
	}
	st := a.Peers()
	if len(st) != 1 || st[0].Node != 2 || st[0].ClientAddr != "127.0.0.1:8502" ||
		st[0].Incarnation != b.hello.Incarnation || st[0].Problem != "" ||
		!st[0].Lease.Connected || !st[0].Log.Connected || st[0].Lease.LastHeard < 0 ||
		st[0].Lease.LastHeard > testTimeout || st[0].Log.Received != 501 {
		t.Fatalf("peers %+v", st)
	}
}

func TestLeaseDoesNotWaitBehindTheLog(t *testing.T) {
	a, b := listen(t, 1, "", nil), listen(t, 2, "", nil)
	b.block = make(chan struct{})
	m := members(1, 2)
	a.serve(m, b)
	b.serve(m, a)
	a.awaitEvent(t, "+lease 2", 1)
	a.awaitEvent(t, "+log 2", 1)
	for a.SendLog(2, logBody(1<<20)) {
	}
	for i := range 10 {
		a.SendLease(2, leaseBody(1, byte(i)))
	}
	b.await(t, "lease frames", func() bool { return len(b.lease) == 10 })
	close(b.block)
}

// dumb is a peer made by hand: it shakes hands and then does what the test wants, which may be nothing.
func dumb(t *testing.T, addr string, h wire.Hello, to ballot.NodeID, kind wire.Kind) *conn {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	w := newConn(nc, 0, time.Now().Add(testTimeout))
	if err := w.send(&wire.HelloMsg{Kind: kind, To: to, Hello: h}); err != nil {
		t.Fatal(err)
	}
	if m, err := w.receive(); err != nil {
		t.Fatal(m, err)
	}
	if err := w.send(&wire.ReadyMsg{}); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestPausedPeerCostsBoundedMemoryAndIsNoticed(t *testing.T) {
	n := listen(t, 2, "", func(c *Config, _ *wire.Hello) {
		c.IdleTimeout = 500 * time.Millisecond
		c.MaxLogFrameBytes = 1 << 20
		c.QueueBytes = 4 << 20
	})
	n.serve(members(1, 2))
	dumb(t, n.Addr().String(), honest(1), 2, wire.KindLog)
	dumb(t, n.Addr().String(), honest(1), 2, wire.KindLease)
	n.awaitEvent(t, "+log 1", 1)
	n.awaitEvent(t, "+lease 1", 1)
	sent := 0
	for n.SendLog(1, logBody(1<<20)) {
		if sent++; sent > 200 {
			t.Fatal("200 MiB in line for a peer that does not read")
		}
	}
	for range 100000 {
		n.SendLease(1, leaseBody(1000))
	}
	st := n.Peers()[0]
	if st.Log.QueueBytes > 4<<20 || st.Lease.QueueBytes > leaseQueueBytes || st.Lease.QueueFrames > leaseQueueFrames ||
		st.Lease.Dropped == 0 || st.Log.Dropped == 0 {
		t.Fatalf("%+v", st)
	}
	n.awaitEvent(t, "-log 1", 1)
	n.awaitEvent(t, "-lease 1", 1)
	if n.SendLog(1, logBody(1)) || n.SendLease(1, leaseBody(1)) {
		t.Fatal("sent to nobody")
	}
}

func TestNewConnectionReplacesTheOldOne(t *testing.T) {
	n := listen(t, 2, "", nil)
	n.serve(members(1, 2))
	for i := range 5 {
		w := dumb(t, n.Addr().String(), honest(1), 2, wire.KindLog)
		n.awaitEvent(t, "+log 1", i+1)
		writeFrames(t, w.nc, logBody(1, byte(i)))
		n.recorder.await(t, "frame", func() bool { return len(n.log) == i+1 })
	}
	n.Close()
	want := strings.Repeat("+log 1 -log 1 ", 5)
	if got := strings.Join(n.events, " ") + " "; got != want {
		t.Fatalf("events %s", got)
	}
}

func TestManyConnectionsAtOnceLeaveOne(t *testing.T) {
	n := listen(t, 2, "", nil)
	n.serve(members(1, 2))
	done := make(chan struct{})
	for range 20 {
		go func() {
			defer func() { done <- struct{}{} }()
			dumb(t, n.Addr().String(), honest(1), 2, wire.KindLease)
		}()
	}
	for range 20 {
		<-done
	}
	n.Close()
	for i, e := range n.events {
		if want := []string{"+lease 1", "-lease 1"}[i%2]; e != want {
			t.Fatalf("event %d of %v", i, n.events)
		}
	}
}

func TestANewRunEndsTheConnectionsOfTheOldOne(t *testing.T) {
	n := listen(t, 2, "", func(c *Config, _ *wire.Hello) { c.IdleTimeout = 3 * testTimeout })
	n.serve(members(1, 2))
	dumb(t, n.Addr().String(), honest(1), 2, wire.KindLog)
	n.awaitEvent(t, "+log 1", 1)
	next := honest(1)
	next.Incarnation.Restart, next.Incarnation.Nonce = 2, 5
	dumb(t, n.Addr().String(), next, 2, wire.KindLease)
	n.awaitEvent(t, "-log 1", 1)
}

// An old run passes the check, a new run connects meanwhile, and then the old one says that it is ready.
func TestAnOldRunIsNotReadyAfterANewOne(t *testing.T) {
	n := listen(t, 2, "", nil)
	n.serve(members(1, 2))
	nc, err := net.Dial("tcp", n.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	w := newConn(nc, 0, time.Now().Add(testTimeout))
	if err := w.send(&wire.HelloMsg{Kind: wire.KindLog, To: 2, Hello: honest(1)}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.receive(); err != nil {
		t.Fatal(err)
	}
	next := honest(1)
	next.Incarnation.Restart, next.Incarnation.Nonce = 2, 5
	dumb(t, n.Addr().String(), next, 2, wire.KindLog)
	n.awaitEvent(t, "+log 1", 1)
	if err := w.send(&wire.ReadyMsg{}); err != nil {
		t.Fatal(err)
	}
	n.logs.awaitAll(t, "connection refused", "restart counter")
	if h := n.history(); len(h) != 1 {
		t.Fatalf("%v", h)
	}
}

func TestKeepalivesCarryMarks(t *testing.T) {
	n := listen(t, 2, "", func(c *Config, h *wire.Hello) {
		c.IdleTimeout = 2 * time.Second
		h.Marks = wire.Marks{Promised: ballot.Ballot{Counter: 7}, Accepted: 9}
	})
	n.serve(members(1, 2))
	w := dumb(t, n.Addr().String(), honest(1), 2, wire.KindLog)
	body, err := w.frames.Next()
	if err != nil || !wire.IsKeepalive(body) {
		t.Fatalf("%x %v", body, err)
	}
	writeFrames(t, w.nc, body, []byte{0, 0xff}, logBody(1)) // its own marks are as good as any
	n.recorder.await(t, "frame", func() bool { return len(n.log) == 1 })
	if st := n.Peers()[0]; st.Log.Ignored != 1 {
		t.Fatalf("%+v", st)
	}
	back := honest(1)
	back.Incarnation.Restart = 2
	if r := n.histories.Check(&back); r == nil || r.Reason != wire.ReasonRolledBack {
		t.Fatalf("a store that lost its marks: %v", r)
	}
}

// A frame of a type that only newer versions know is counted, logged once for each type and kind of connection, however
// often they connect, and neither handed on nor answered.
func TestUnknownTypesAreIgnored(t *testing.T) {
	n := listen(t, 2, "", nil)
	n.serve(members(1, 2))
	for run := range 2 {
		for _, kind := range []wire.Kind{wire.KindLog, wire.KindLease} {
			w := dumb(t, n.Addr().String(), honest(1), 2, kind)
			writeFrames(t, w.nc, []byte{200, 1}, []byte{201}, []byte{200}, logBody(2), leaseBody(2))
		}
		n.recorder.await(t, "the frames that are known",
			func() bool { return len(n.log) == run+1 && len(n.lease) == run+1 })
	}
	st := n.Peers()[0]
	for kind, s := range map[wire.Kind]LinkState{wire.KindLog: st.Log, wire.KindLease: st.Lease} {
		if s.Ignored != 8 || s.Received != 2 || s.Sent != 0 {
			t.Errorf("%v connection: %+v", kind, s)
		}
		for _, typ := range []string{"200", "201"} {
			if lines := n.logs.count(`"kind":"`+kind.String()+`"`, `"type":`+typ, "does not know"); lines != 1 {
				t.Errorf("%d lines about type %s on a %v connection", lines, typ, kind)
			}
		}
	}
	if got := n.Stats().Ignored; got != 16 {
		t.Errorf("%d frames counted", got)
	}
}

func TestFlushWaitsForTheLastMessages(t *testing.T) {
	a, b := pair(t, nil)
	for range 100 {
		a.SendLease(2, leaseBody(100))
		a.SendLog(2, logBody(100000))
	}
	if err := a.Flush(within(t)); err != nil {
		t.Fatal(err)
	}
	a.Close()
	b.recorder.await(t, "last messages", func() bool { return len(b.lease) == 100 && len(b.log) == 100 })
}

func TestSendNeverTakesWhatItCannotCarry(t *testing.T) {
	a, _ := pair(t, func(c *Config, _ *wire.Hello) { c.MaxLogFrameBytes = 1000 })
	if a.SendLog(2, logBody(1001)) || a.SendLease(2, leaseBody(wire.MaxLeaseBytes+1)) || a.SendLog(3, logBody(1)) ||
		!a.SendLog(2, logBody(1000)) {
		t.Fatal("wrong size or peer")
	}
	for _, body := range [][]byte{nil, {0}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("body %v was sent", body)
				}
			}()
			a.SendLease(2, body)
		}()
	}
}

func TestPeerIsFoundAgainAfterARestart(t *testing.T) {
	a, b := pair(t, nil)
	addr := b.Addr().String()
	b.Close()
	a.awaitEvent(t, "-lease 2", 1)
	a.awaitEvent(t, "-log 2", 1)
	b = listen(t, 2, addr, func(_ *Config, h *wire.Hello) { h.Incarnation.Restart++ })
	b.serve(members(1, 2), a)
	a.awaitEvent(t, "+lease 2", 2)
	a.awaitEvent(t, "+log 2", 2)
	if got := a.Peers()[0].Incarnation.Restart; got != 2 {
		t.Fatalf("restart counter %d", got)
	}
}

func TestANodeAloneNeedsNoAddress(t *testing.T) {
	n, err := Listen(Config{Self: 1, Hello: func() wire.Hello { return honest(1) }})
	if err != nil {
		t.Fatal(err)
	}
	n.Serve(&recorder{}, members(1), nil)
	if n.Addr() != nil || len(n.Peers()) != 0 || n.SendLease(1, leaseBody(1)) {
		t.Fatal("a peer out of nothing")
	}
	n.Close()
	n.Close()
}
