package admission

import (
	"fmt"
	"net"
	"testing"
)

// shaking is a connection from an address whose handshake is under way.
type shaking struct {
	net.Conn
	from   string
	closed bool
}

func (s *shaking) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(s.from), Port: 1} }
func (s *shaking) Close() error         { s.closed = true; return nil }

// A flood from many addresses has one handshake from each: it is the oldest that ends, and not one of several honest
// clients behind one address.
func TestPendingOfManyAddresses(t *testing.T) {
	p := NewPending(8)
	var flood []*shaking
	for i := range 6 {
		flood = append(flood, &shaking{from: fmt.Sprintf("10.0.1.%d", i)})
		p.Add(flood[i])
	}
	honest := []*shaking{{from: "10.0.0.1"}, {from: "10.0.0.1"}}
	for _, c := range honest {
		p.Add(c)
	}
	p.Add(&shaking{from: "10.0.1.9"})
	if !flood[0].closed || flood[1].closed || honest[0].closed || honest[1].closed {
		t.Error("it was not the oldest that gave way")
	}
}

// When there are too many, the oldest of an address with very many of them ends.
func TestPending(t *testing.T) {
	p := NewPending(4)
	slow := &shaking{from: "10.0.0.9"}
	p.Add(slow)
	var flood []*shaking
	for range 6 {
		c := &shaking{from: "10.0.0.1"}
		flood = append(flood, c)
		p.Add(c)
	}
	if slow.closed || p.Len() != 4 || p.Evicted() != 3 {
		t.Errorf("the other address gave way: %t; %d are left, %d were closed", slow.closed, p.Len(), p.Evicted())
	}
	for i, c := range flood {
		if c.closed != (i < 3) {
			t.Errorf("connection %d: closed is %t", i, c.closed)
		}
	}
	p.Done(slow)
	p.Done(slow)
	p.Done(flood[0]) // closed before
	if p.Len() != 3 {
		t.Errorf("%d are left", p.Len())
	}
	for _, c := range flood[3:] {
		p.Done(c)
	}
	if p.Len() != 0 || len(p.count) != 0 {
		t.Errorf("%d are left, %d addresses", p.Len(), len(p.count))
	}
}
