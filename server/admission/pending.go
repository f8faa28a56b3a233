package admission

import (
	"net"
	"slices"
	"sync"
	"sync/atomic"
)

// Pending are the connections to a listener with an unfinished handshake, a bounded number of them. An honest handshake
// takes milliseconds. So when there are too many, the oldest connection is closed, since it is idle. But a flood from
// one address gives way to itself, however slow the handshakes of others are meanwhile: if a source has more than a
// quarter of the places, the oldest connection of the largest source is closed. Smaller sources are never singled out:
// in a flood from many addresses each may have one connection, and several honest clients share an address. All methods
// are safe for concurrent use.
type Pending struct {
	limit   int
	evicted atomic.Uint64

	mu    sync.Mutex
	conns []pendingConn // the oldest first
	count map[Source]int
}

type pendingConn struct {
	net.Conn
	from Source
}

// NewPending returns a Pending of at most limit connections.
func NewPending(limit int) *Pending { return &Pending{limit: limit, count: map[Source]int{}} }

// Add takes note of nc, whose handshake begins. If there are too many, it closes one.
func (p *Pending) Add(nc net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.conns) >= p.limit {
		i := p.crowd()
		_ = p.conns[i].Close()
		p.remove(i)
		p.evicted.Add(1)
	}
	from := SourceOf(nc.RemoteAddr())
	p.conns = append(p.conns, pendingConn{nc, from})
	p.count[from]++
}

// Done forgets nc, if it is known: its handshake or the connection has ended.
func (p *Pending) Done(nc net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.IndexFunc(p.conns, func(c pendingConn) bool { return c.Conn == nc }); i >= 0 {
		p.remove(i)
	}
}

// Len returns how many there are.
func (p *Pending) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// Evicted returns how many connections were closed in favour of newer ones.
func (p *Pending) Evicted() uint64 { return p.evicted.Load() }

// crowd returns which one is to give way. The caller holds mu.
func (p *Pending) crowd() int {
	oldest, most := 0, p.limit/4
	for i, c := range p.conns {
		n := p.count[c.from]
		if n > most {
			oldest, most = i, n
		}
	}
	return oldest
}

// remove forgets the connection at i. The caller holds mu.
func (p *Pending) remove(i int) {
	from := p.conns[i].from
	if p.count[from]--; p.count[from] == 0 {
		delete(p.count, from)
	}
	p.conns = slices.Delete(p.conns, i, i+1)
}
