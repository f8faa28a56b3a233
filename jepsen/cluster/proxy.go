package cluster

import (
	"errors"
	"net"
	"sync"
	"time"
)

const (
	pieceBytes  = 32 << 10
	maxPieces   = 1024 // that one direction of a connection holds back before its sender has to wait
	whoTries    = 50   // times to look for the process behind a connection, which may be a moment old
	whoInterval = 2 * time.Millisecond
	dialTimeout = 3 * time.Second
)

// Proxied is loopback with a proxy in this process between each two nodes: it delays and holds back what they say to
// each other. What is held back arrives when the cut ends, as it would after TCP's retransmissions.
type Proxied struct {
	loopback
	listed    []string
	listeners []net.Listener
	pid       func(id int) int // of the process that node id is now, 0 if it does not run
	work      sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed, and made anew, whenever something below changes
	cuts    map[Way]bool
	delay   time.Duration
	stopped int
	delayed int
	closed  bool
	conns   map[net.Conn]bool
}

// NewProxied listens for each node. It serves once it has been given to New.
func NewProxied(nodes int) (*Proxied, error) {
	l, err := newLoopback(nodes)
	if err != nil {
		return nil, err
	}
	p := &Proxied{loopback: *l, cuts: map[Way]bool{}, changed: make(chan struct{}), conns: map[net.Conn]bool{}}
	for range nodes {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
		p.listeners = append(p.listeners, l)
		p.listed = append(p.listed, l.Addr().String())
	}
	return p, nil
}

// Addresses: peers are told the proxy's.
func (p *Proxied) Addresses(id int) (client, peer, listed string) {
	return p.client[id-1], p.peer[id-1], p.listed[id-1]
}

// serve begins to accept; pid tells which process a node is.
func (p *Proxied) serve(pid func(id int) int) {
	p.pid = pid
	for i, l := range p.listeners {
		p.work.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				p.work.Go(func() { p.carry(c, i+1) })
			}
		})
	}
}

// Cut holds back what is said.
func (p *Proxied) Cut(ways ...Way) error {
	p.change(func() {
		for _, w := range ways {
			p.cuts[w] = true
		}
	})
	return nil
}

// Delay makes everything between nodes take that much longer, each way.
func (p *Proxied) Delay(d time.Duration) { p.change(func() { p.delay = d }) }

// Heal lets everything go on at once.
func (p *Proxied) Heal() error {
	p.change(func() { p.cuts, p.delay = map[Way]bool{}, 0 })
	return nil
}

// Stopped counts the pieces and new connections that a cut held back.
func (p *Proxied) Stopped() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopped, nil
}

// Delayed counts the pieces that waited for a delay.
func (p *Proxied) Delayed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delayed
}

// Close ends all connections and waits for the proxy's goroutines.
func (p *Proxied) Close() error {
	for _, l := range p.listeners {
		_ = l.Close()
	}
	p.change(func() {
		p.closed = true
		for c := range p.conns {
			_ = c.Close()
		}
	})
	p.work.Wait()
	return nil
}

func (p *Proxied) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.changed)
	p.changed = make(chan struct{})
}

// carry serves one connection to node to.
func (p *Proxied) carry(in net.Conn, to int) {
	defer in.Close()
	from := p.who(in)
	if from == 0 || !p.keep(in) {
		return
	}
	defer p.forget(in)
	// A new connection needs both ways.
	if !p.pass(from, to) || !p.pass(to, from) {
		return
	}
	out, err := net.DialTimeout("tcp", p.peer[to-1], dialTimeout)
	if err != nil || !p.keep(out) {
		return
	}
	defer p.forget(out)
	var both sync.WaitGroup
	both.Go(func() { p.stream(in, out, from, to) })
	both.Go(func() { p.stream(out, in, to, from) })
	both.Wait()
}

// keep notes a connection so that Close ends it; false if it is too late.
func (p *Proxied) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

func (p *Proxied) forget(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

// who is the node whose process has the other end of c, 0 if there is none.
func (p *Proxied) who(c net.Conn) int {
	port := c.RemoteAddr().(*net.TCPAddr).Port
	for range whoTries {
		for id := 1; id <= len(p.peer); id++ {
			if pid := p.pid(id); pid != 0 && holds(pid, port) {
				return id
			}
		}
		time.Sleep(whoInterval)
	}
	return 0
}

type piece struct {
	data []byte
	at   time.Time // when it was read
}

// stream carries bytes one way until either end is gone.
func (p *Proxied) stream(in, out net.Conn, from, to int) {
	pieces := make(chan piece, maxPieces)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(pieces)
		for {
			b := make([]byte, pieceBytes)
			n, err := in.Read(b)
			if n > 0 {
				pieces <- piece{b[:n], time.Now()}
			}
			if err != nil {
				return
			}
		}
	})
	for x := range pieces {
		if !p.wait(x.at) || !p.pass(from, to) {
			break
		}
		if _, err := out.Write(x.data); err != nil {
			break
		}
	}
	_, _ = in.Close(), out.Close()
	for range pieces { // the reader may wait for space
	}
	reading.Wait()
}

// pass waits until from may speak to to; false if the proxy is closed.
func (p *Proxied) pass(from, to int) bool {
	for counted := false; ; counted = true {
		p.mu.Lock()
		closed, cut, changed := p.closed, p.cuts[Way{from, to}], p.changed
		if cut && !counted {
			p.stopped++
		}
		p.mu.Unlock()
		if closed || !cut {
			return !closed
		}
		<-changed
	}
}

// wait lets the delay of what came at that time pass.
func (p *Proxied) wait(at time.Time) bool {
	for counted := false; ; counted = true {
		p.mu.Lock()
		closed, left, changed := p.closed, time.Until(at.Add(p.delay)), p.changed
		if p.delay > 0 && !counted {
			p.delayed++
		}
		p.mu.Unlock()
		if closed || left <= 0 {
			return !closed
		}
		select {
		case <-changed:
		case <-time.After(left):
		}
	}
}
