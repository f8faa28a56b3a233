package admission

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wire is a connection from an address; it notes that it was closed.
type wire struct {
	net.Conn
	from   netip.AddrPort
	closed chan struct{}
}

func from(addr string) *wire {
	return &wire{from: netip.AddrPortFrom(netip.MustParseAddr(addr), 1), closed: make(chan struct{}, 1)}
}

func (w *wire) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(w.from) }

func (w *wire) Close() error {
	select {
	case w.closed <- struct{}{}:
	default:
	}
	return nil
}

func (w *wire) ended() bool { return len(w.closed) > 0 }

func newConns(l Limits) *Conns { return NewConns(l, NewMetrics()) }

// fill opens n connections from an address, all of them ordinary ones.
func fill(t *testing.T, c *Conns, n int, addr string) (all []*Conn) {
	t.Helper()
	for range n {
		conn := c.Admit(from(addr))
		if conn == nil || conn.Reserved() {
			t.Fatalf("after %d: %+v", len(all), conn)
		}
		all = append(all, conn)
	}
	return all
}

func release(c *Conns, all ...*Conn) {
	for _, conn := range all {
		c.Release(conn)
	}
}

// One source cannot take all connections: the rest stays free for other sources, and a released place can be taken
// again.
func TestConnectionsOfOneSource(t *testing.T) {
	c := newConns(Limits{Conns: 100, ConnsPerSource: 10, Reserved: 20})
	all := fill(t, c, 10, "192.0.2.1")
	more := c.Admit(from("192.0.2.1"))
	if more == nil || !more.Reserved() {
		t.Errorf("the 11th connection: %+v", more)
	}
	all = append(all, fill(t, c, 10, "192.0.2.2")...)
	all = append(all, fill(t, c, 30, "127.0.0.1")...) // this machine has no bound of its own
	release(c, all...)
	release(c, more)
	release(c, fill(t, c, 10, "192.0.2.1")...)
	if len(c.sources) != 0 || c.ordinary != 0 || c.reserved.open() != 0 {
		t.Errorf("%+v is left", c)
	}
}

func TestLoopbackIsBoundedToo(t *testing.T) {
	c := newConns(Limits{Conns: 100, ConnsPerSource: 10, Reserved: 20, Loopback: true})
	all := fill(t, c, 10, "127.0.0.66")
	more := c.Admit(from("127.0.0.66"))
	if more == nil || !more.Reserved() {
		t.Errorf("the 11th connection: %+v", more)
	}
	release(c, append(append(all, more), fill(t, c, 10, "127.0.0.1")...)...)
}

// Beyond the ordinary connections some are reserved, and idle ones among them give way.
func TestReservedConnectionsGiveWay(t *testing.T) {
	c := newConns(Limits{Conns: 20, Reserved: 8})
	all := fill(t, c, 12, "192.0.2.1")
	var held []*wire
	admit := func(i int) *Conn {
		w := from(fmt.Sprint("192.0.2.", i))
		held = append(held, w)
		conn := c.Admit(w)
		if conn != nil {
			all = append(all, conn)
		}
		return conn
	}
	for i := range 4 { // half of them, for those who are not here
		if conn := admit(i); conn == nil || !conn.Reserved() {
			t.Fatalf("%d: %+v", i, conn)
		}
	}
	c.Asked(all[12])
	if admit(4) == nil || held[0].ended() || !held[1].ended() {
		t.Errorf("the oldest on which nothing was asked had to go: %v %v", held[0].ended(), held[1].ended())
	}
	for _, conn := range all[13:] {
		c.Asked(conn)
	}
	if admit(5) != nil {
		t.Error("all are busy, and one was let in")
	}
	here := c.Admit(from("127.0.0.1"))
	if here == nil || !here.Reserved() {
		t.Errorf("the connections of this machine were taken by others: %+v", here)
	}
	release(c, append(all, here)...)
	if len(c.sources) != 0 || c.ordinary != 0 || c.reserved.open() != 0 {
		t.Errorf("%+v is left", c)
	}
}

// One source has few of the reserved connections at a time, and its newest are the ones that it keeps.
func TestOneSourceHasFewReservedConnections(t *testing.T) {
	c := newConns(Limits{Conns: 200, ConnsPerSource: 1, Reserved: 100})
	all := fill(t, c, 1, "192.0.2.1")
	var wires []*wire
	for range 3 * reservedPerSource {
		w := from("192.0.2.1")
		wires = append(wires, w)
		if conn := c.Admit(w); conn != nil {
			all = append(all, conn)
		}
	}
	open := 0
	for _, w := range wires {
		if !w.ended() {
			open++
		}
	}
	if open != reservedPerSource || wires[len(wires)-1].ended() {
		t.Errorf("%d reserved connections of one source are open, want %d", open, reservedPerSource)
	}
	release(c, all...)
}

// A reserved connection on which nothing is asked ends by itself.
func TestReservedConnectionsEnd(t *testing.T) {
	c := newConns(Limits{Conns: 4, Reserved: 2})
	all := fill(t, c, 2, "192.0.2.1")
	w := from("192.0.2.2")
	all = append(all, c.Admit(w))
	select {
	case <-w.closed:
	case <-time.After(10 * askWithin):
		t.Error("it is open yet")
	}
	release(c, all...)
}

// Whatever comes and goes, no bound is passed, and nothing is remembered of those who have gone.
func TestConnsKeepTheirBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	limits := Limits{Conns: 60, ConnsPerSource: 9, Reserved: 16}
	c := newConns(limits)
	var open []*Conn
	closed := func(conn *Conn) bool { return conn.closer.(*wire).ended() }
	for range 20_000 {
		switch {
		case random.IntN(100) < 52:
			addr := fmt.Sprint("192.0.2.", random.IntN(12))
			if random.IntN(4) == 0 {
				addr = "127.0.0.1"
			}
			if conn := c.Admit(from(addr)); conn != nil {
				open = append(open, conn)
			}
		case len(open) > 0:
			i := random.IntN(len(open))
			if random.IntN(3) == 0 {
				c.Asked(open[i])
				continue
			}
			c.Release(open[i])
			open = append(open[:i], open[i+1:]...)
		}
		bySource, ordinary, reserved := map[Source]int{}, 0, 0
		for _, conn := range open {
			switch {
			case !conn.Reserved():
				ordinary++
				bySource[conn.Source]++
			case !closed(conn):
				reserved++
			}
		}
		for s, n := range bySource {
			if n > limits.ConnsPerSource && !s.Loopback() {
				t.Fatalf("%d connections from %v", n, s)
			}
		}
		if ordinary > limits.Conns-limits.Reserved || reserved > limits.Reserved {
			t.Fatalf("%d ordinary and %d reserved connections", ordinary, reserved)
		}
	}
	release(c, open...)
	if len(c.sources) != 0 || c.ordinary != 0 || c.reserved.open() != 0 {
		t.Errorf("%+v is left", c)
	}
}

// AdmitOrdinary never takes a place reserved for operators, and never closes a reserved connection.
func TestOrdinaryConnectionsLeaveTheReserveAlone(t *testing.T) {
	c := NewConns(Limits{Conns: 4, Requests: 4, Reserved: 2, Loopback: true}, NewMetrics())
	admit := func(by func(net.Conn) *Conn) *Conn {
		nc, other := net.Pipe()
		t.Cleanup(func() { _, _ = nc.Close(), other.Close() })
		return by(nc)
	}
	first, second := admit(c.AdmitOrdinary), admit(c.AdmitOrdinary)
	if first == nil || second == nil {
		t.Fatal("an ordinary connection was refused")
	}
	operator := admit(c.Admit)
	if operator == nil || !operator.Reserved() {
		t.Fatalf("%+v", operator)
	}
	if admit(c.AdmitOrdinary) != nil {
		t.Error("it took a reserved place")
	}
	if operator.place.half == nil {
		t.Error("it ended an operator's connection")
	}
	c.Release(first)
	if admit(c.AdmitOrdinary) == nil {
		t.Error("refused although there is a place")
	}
}
