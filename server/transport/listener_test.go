package transport

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/server/wire"
)

func TestGarbageDisturbsNobody(t *testing.T) {
	a, b := pair(t, nil)
	before := runtime.NumGoroutine()
	rnd := rand.New(rand.NewPCG(1, 2))
	hello := wire.EncodeHandshake(&wire.HelloMsg{Kind: wire.KindLog, To: 2, Hello: honest(1)})
	ask := newcomer()
	join := wire.EncodeHandshake(&ask)
	connections, frames := 400, 25
	for i := range connections {
		nc, err := net.Dial("tcp", b.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		for range frames {
			nc.Write(junk(rnd, i, hello, join))
		}
		if i%2 == 0 {
			nc.Close()
		} else {
			defer nc.Close()
		}
	}
	for i := range 200 {
		if !a.SendLease(2, leaseBody(1, byte(i))) || !b.SendLog(1, logBody(1, byte(i))) {
			t.Fatal("not sent")
		}
	}
	b.recorder.await(t, "lease frames among garbage", func() bool { return len(b.lease) == 200 })
	a.recorder.await(t, "log frames among garbage", func() bool { return len(a.log) == 200 })
	if len(a.history()) != len(wire.Kinds) || len(b.history()) != len(wire.Kinds) {
		t.Fatalf("disturbed: %v %v", a.history(), b.history())
	}
	b.logs.awaitAll(t, "did not finish the handshake")
	if n := runtime.NumGoroutine(); n > before+2*maxPending {
		t.Fatalf("%d goroutines, %d before", n, before)
	}
	if lines := b.logs.lines(); lines > maxLines+10 {
		t.Fatalf("%d lines of log", lines)
	}
}

// junk is noise, a frame of noise, one of the messages with a flipped bit, or a frame that declares too much.
func junk(rnd *rand.Rand, kind int, messages ...[]byte) []byte {
	noise := make([]byte, rnd.IntN(300))
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	switch kind % 4 {
	case 0:
		return noise
	case 1:
		return wire.AppendFrame(nil, append([]byte("TNUR\x01\x00\x01"), noise...))
	case 2:
		bad := bytes.Clone(messages[rnd.IntN(len(messages))])
		bad[rnd.IntN(len(bad))] ^= 1 << rnd.IntN(8)
		return wire.AppendFrame(nil, append(bad, noise...))
	}
	return append([]byte{0xff, 0xff, 0xff, 0xf0}, noise...)
}

func TestIdleStrangersMakeSpace(t *testing.T) {
	n := listen(t, 2, "", func(c *Config, _ *wire.Hello) { c.IdleTimeout = 3 * testTimeout })
	n.serve(members(1, 2))
	dumb(t, n.Addr().String(), honest(1), 2, wire.KindLog)
	n.awaitEvent(t, "+log 1", 1)
	for range 3 * maxPending {
		nc, err := net.Dial("tcp", n.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
	}
	dumb(t, n.Addr().String(), honest(1), 2, wire.KindLease)
	n.awaitEvent(t, "+lease 1", 1)
	if h := n.history(); len(h) != 2 {
		t.Fatalf("strangers ended a connection: %v", h)
	}
	if n.Stats().Evicted < maxPending {
		t.Fatalf("%+v", n.Stats())
	}
	if pending := n.sockets.pending.Len(); pending > maxPending {
		t.Fatalf("%d connections in their handshake", pending)
	}
}

// A flood from one address ends its own connections, and not the older one of somebody whose handshake is slow.
func TestAFloodGivesWayToItself(t *testing.T) {
	n := listen(t, 2, "", func(c *Config, _ *wire.Hello) { c.HandshakeTimeout = 3 * testTimeout })
	n.serve(members(1, 2))
	slow, err := net.Dial("tcp", n.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	flood := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 66)}}
	for range 3 * maxPending {
		nc, err := flood.Dial("tcp", n.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
	}
	for end := time.Now().Add(testTimeout); n.Stats().Evicted < maxPending && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	hello := wire.EncodeHandshake(&wire.HelloMsg{Kind: wire.KindLog, To: 2, Hello: honest(1)})
	if _, err := slow.Write(wire.AppendFrame(nil, hello)); err != nil {
		t.Fatal(err)
	}
	slow.SetReadDeadline(time.Now().Add(testTimeout))
	body, err := wire.NewFrameReader(slow, wire.MaxHandshakeBytes).Next()
	if err != nil {
		t.Fatalf("the connection from another address was ended: %v", err)
	}
	if m, err := wire.DecodeHandshake(body); err != nil {
		t.Errorf("%v %v", m, err)
	}
}

func TestListenSaysWhatToDo(t *testing.T) {
	n := listen(t, 1, "", nil)
	for _, c := range []struct {
		cfg  Config
		kind error
		want string
	}{
		{Config{Self: 2, Addr: n.Addr().String()}, ErrListen, "another process listens there"},
		{Config{Self: 2, Addr: "192.0.2.1:8300"}, ErrListen, "no such address"},
		{Config{Self: 2, Addr: "8300"}, ErrConfig, "HOST:PORT"},
		{Config{Self: 2, Addr: "a\nb:1"}, ErrConfig, "HOST:PORT"},
		{Config{Self: 2, Addr: "$(id):1"}, ErrConfig, "HOST:PORT"},
		{Config{Self: ballot.MaxNodeID + 1, Addr: "127.0.0.1:0"}, ErrConfig, "node id 65536"},
		{Config{Self: 2, QueueBytes: 10}, ErrConfig, "cannot hold a frame"},
		{Config{Self: 2, QueueFrames: -1}, ErrConfig, "negative"},
	} {
		tr, err := Listen(c.cfg)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.cfg, err)
		}
		if err == nil {
			tr.Close()
		}
	}
}
