package admission

import (
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

// When there are too many, the oldest of the address with most of them ends.
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
