package transport

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"tenure/server/wire"
)

// linked returns a link of n to its only peer over nc.
func linked(n *node, kind wire.Kind, nc net.Conn) (*peer, *link) {
	s := n.peers.Load()
	p := s.list()[0]
	inc, c := honest(p.node).Incarnation, newConn(nc, 0, time.Time{})
	l := newLink(s.cfg, inc, kind, c, &p.end(kind).traffic, s.handshake.history, s.log.Logger)
	l.required = s.handshake.required
	return p, l
}

// piped runs a link of n to its only peer over nc. The channel returns why it ended.
func piped(n *node, kind wire.Kind, nc net.Conn) <-chan error {
	p, l := linked(n, kind, nc)
	out := make(chan error, 1)
	go func() { out <- p.run(l, n) }()
	return out
}

func offline(t *testing.T, n *node, h wire.Hello) {
	t.Helper()
	tr, err := Listen(Config{Self: h.Node, Hello: func() wire.Hello { return h }})
	if err != nil {
		t.Fatal(err)
	}
	n.Transport = tr
	tr.Serve(n, members(1, 2), nil)
}

func TestIdleConnectionsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, kind := range wire.Kinds {
			var a, b node
			offline(t, &a, honest(1))
			offline(t, &b, honest(2))
			left, right := net.Pipe()
			endA, endB := piped(&a, kind, left), piped(&b, kind, right)
			time.Sleep(time.Hour) // of the bubble
			select {
			case err := <-endA:
				t.Fatalf("%v ended: %v", kind, err)
			case err := <-endB:
				t.Fatalf("%v ended: %v", kind, err)
			default:
			}
			st := a.peers.Load().list()[0].end(kind).state()
			if st.LastHeard > a.cfg.IdleTimeout/4 || st.LastHeard < 0 {
				t.Fatalf("last heard %v ago", st.LastHeard)
			}
			left.Close()
			<-endA
			<-endB
			a.Close()
			b.Close()
		}
	})
}

func TestOnlyLeaseFramesPushOthersOut(t *testing.T) {
	var n node
	offline(t, &n, honest(1))
	defer n.Close()
	left, right := net.Pipe()
	defer left.Close()
	defer right.Close()
	for kind, want := range map[wire.Kind]bool{wire.KindLease: true, wire.KindLog: false} {
		if _, l := linked(&n, kind, left); l.queue.dropOldest != want {
			t.Errorf("%v drops the oldest: %v", kind, !want)
		}
	}
}

func TestSilentPeerIsGivenUp(t *testing.T) {
	for name, far := range map[string]func(net.Conn){
		"reads but says nothing": func(nc net.Conn) {
			for b := make([]byte, 100); ; {
				if _, err := nc.Read(b); err != nil {
					return
				}
			}
		},
		"does not even read": func(net.Conn) {},
	} {
		synctest.Test(t, func(t *testing.T) {
			var n node
			offline(t, &n, honest(1))
			defer n.Close()
			left, right := net.Pipe()
			go far(right)
			began := time.Now()
			ended := piped(&n, wire.KindLease, left)
			err := <-ended
			if took := time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || took > n.cfg.IdleTimeout*5/4 {
				t.Errorf("%s: %v after %v", name, err, took)
			}
			right.Close()
		})
	}
}

// A frame that comes slowly is no silence.
func TestSlowFrameIsNotSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n node
		offline(t, &n, honest(1))
		defer n.Close()
		left, right := net.Pipe()
		ended := piped(&n, wire.KindLog, left)
		go func() {
			for b := make([]byte, 100); ; {
				if _, err := right.Read(b); err != nil {
					return
				}
			}
		}()
		body := logBody(40000)
		raw := wire.AppendFrame(nil, body)
		for len(raw) > 0 {
			k := min(1000, len(raw))
			if _, err := right.Write(raw[:k]); err != nil {
				t.Fatal(err)
			}
			raw = raw[k:]
			time.Sleep(n.cfg.IdleTimeout / 2)
		}
		synctest.Wait()
		if len(n.log) != 1 || len(n.log[0]) != len(body) {
			t.Fatalf("%d frames", len(n.log))
		}
		right.Close()
		<-ended
	})
}

// A connection that fails is noticed whether a flush is one write or several.
func TestFlushReturnsWriteErrors(t *testing.T) {
	var n node
	offline(t, &n, honest(2))
	defer n.Close()
	for _, size := range []int{1, 100_000} {
		left, right := net.Pipe()
		right.Close()
		_, l := linked(&n, wire.KindLog, left)
		var w wire.FrameWriter
		w.Add(logBody(size))
		if err := l.flush(&w); !errors.Is(err, io.ErrClosedPipe) || w.Buffered() != 0 {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
