package hostile

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tenure/jepsen/cluster"
)

// attackers returns the addresses from which a flood comes. Load and operators have 127.0.0.1.
func attackers(n int) (out []net.Dialer) {
	for i := range max(1, n) {
		from := net.IPv4(127, 0, 66, byte(1+i))
		out = append(out, net.Dialer{Timeout: dialTimeout, LocalAddr: &net.TCPAddr{IP: from}})
	}
	return out
}

// dialTimeout bounds a connection's beginning: a stranger that waits longer floods nobody.
const dialTimeout = 2 * time.Second

// Flood is one way to be hostile: a number of connections, how many of them begin in a second, and the actions on each.
// The idle program and the cluster get the same.
type Flood struct {
	Name string
	Says string // in one line
	// Effect is what must have been seen of the cluster for the flood to have had an effect.
	Effect Effect
	limit  string // of Limited: its name in tenure_http_limit_reached_total

	conns     int                                // most connections at a time
	perSecond int                                // that begin in a second, at most
	life      time.Duration                      // after which a connection is given up; 0: it is not
	requests  int                                // a second, on all connections together; 0: the connections decide
	do        func(ctx context.Context, c *conn) // on each connection, until ctx ends or the node ends it

	from  int     // addresses; 0: one
	peers bool    // it is for the port for peers
	on    bedKind // what is flooded
	one   bool    // it is for the master alone, so that all of it comes to one node
	// resident is how many bytes of a node may be in memory; 0: MaxResident.
	resident int64
	// asOne says that all its requests are one client's: no more of them may be answered than one may send.
	asOne bool
}

// Effect is what a flood makes a node do.
type Effect string

// The effects.
const (
	Cut     Effect = "cut"     // connections were ended by the node
	Refused Effect = "refused" // requests or connections got an answer that refuses them
	Limited Effect = "limited" // the node says that the flood's limit was reached
	Open    Effect = "open"    // all its connections were open at a time
	Held    Effect = "held"    // requests were in flight, since they did not come whole or their answers were not read
)

// attack is a flood that goes on, and what came of it.
type attack struct {
	flood   *Flood
	targets []string     // host:port of each node; connections go to them in turns
	dialers []net.Dialer // by the address from which connections come, likewise
	turns   pace         // of requests; nil if the flood has none
	token   string       // secret of the token that the flood has; "": none
	next    atomic.Int64

	opened, failed, cut, refused, answered atomic.Int64
	open, most                             atomic.Int64
}

func newAttack(f *Flood, targets []string, token string) *attack {
	return &attack{flood: f, targets: targets, dialers: attackers(f.from), token: token}
}

// tally is what came of an attack.
type tally struct{ Opened, Failed, Cut, Refused, Answered, Most int64 }

func (a *attack) tally() tally {
	return tally{a.opened.Load(), a.failed.Load(), a.cut.Load(), a.refused.Load(), a.answered.Load(), a.most.Load()}
}

func (t tally) String() string {
	return fmt.Sprintf("%d connections, %d at once, %d not accepted; %d cut off, %d refused, %d answered", t.Opened,
		t.Most, t.Failed, t.Cut, t.Refused, t.Answered)
}

// conn is a connection of an attack.
type conn struct {
	net.Conn
	a *attack
}

// dial opens a connection, which ends with ctx. It returns nil if there is none to be had.
func (a *attack) dial(ctx context.Context) *conn {
	i := int(a.next.Add(1))
	nc, err := a.dialers[i%len(a.dialers)].DialContext(ctx, "tcp", a.targets[i%len(a.targets)])
	if err != nil {
		if ctx.Err() == nil {
			a.failed.Add(1)
			cluster.Pause(ctx, 10*time.Millisecond)
		}
		return nil
	}
	a.opened.Add(1)
	for n := a.open.Add(1); ; {
		most := a.most.Load()
		if n <= most || a.most.CompareAndSwap(most, n) {
			break
		}
	}
	return &conn{nc, a}
}

// Close ends the connection by a reset, so that its port is free again at once.
func (c *conn) Close() error {
	c.a.open.Add(-1)
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	return c.Conn.Close()
}

// send writes text, and reports whether the node took it.
func (c *conn) send(text string) bool {
	_ = c.SetWriteDeadline(time.Now().Add(dialTimeout))
	_, err := io.WriteString(c, text)
	return err == nil
}

// hear waits until ctx ends or the node ends the connection, and counts what it said: an answer that refuses, or none.
func (c *conn) hear(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	buf := make([]byte, 512)
	n, err := io.ReadAtLeast(c, buf, len("HTTP/1.1 200"))
	if ctx.Err() != nil {
		return
	}
	c.count(string(buf[:n]), err)
}

// count counts an answer that began with text, or ended with err before it had begun.
func (c *conn) count(text string, err error) {
	status, ok := strings.CutPrefix(text, "HTTP/1.1 ")
	if !ok {
		status, ok = strings.CutPrefix(text, "HTTP/1.0 ")
	}
	switch {
	case ok && (strings.HasPrefix(status, "4") && !strings.HasPrefix(status, "404") || strings.HasPrefix(status, "5")):
		c.a.refused.Add(1)
	case ok:
		c.a.answered.Add(1)
	case err != nil:
		c.a.cut.Add(1)
	}
}

// run goes on until ctx ends.
func (a *attack) run(ctx context.Context) {
	var wg sync.WaitGroup
	begin := newPace(ctx, &wg, a.flood.perSecond)
	if a.flood.requests > 0 {
		a.turns = newPace(ctx, &wg, a.flood.requests)
	}
	for range a.flood.conns {
		wg.Go(func() {
			for begin.wait(ctx) {
				if c := a.dial(ctx); c != nil {
					a.live(ctx, c)
				}
			}
		})
	}
	wg.Wait()
}

// live does on a connection what the flood does, for its life.
func (a *attack) live(ctx context.Context, c *conn) {
	defer c.Close()
	if a.flood.life > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.flood.life)
		defer cancel()
	}
	a.flood.do(ctx, c)
}

// pace hands out so many turns in a second.
type pace chan struct{}

// turnEvery is how often turns are handed out.
const turnEvery = 10 * time.Millisecond

// newPace returns a pace that ends with ctx; wg waits for it.
func newPace(ctx context.Context, wg *sync.WaitGroup, perSecond int) pace {
	p := make(pace, 1+perSecond/10)
	wg.Go(func() {
		t := time.NewTicker(turnEvery)
		defer t.Stop()
		for due := 0.0; cluster.Pause(ctx, 0); <-t.C {
			for due += float64(perSecond) * turnEvery.Seconds(); due >= 1; due-- {
				select {
				case p <- struct{}{}:
				default: // those who ask are slower than that
				}
			}
		}
	})
	return p
}

// wait waits for a turn, and reports whether there was one before ctx ended.
func (p pace) wait(ctx context.Context) bool {
	select {
	case <-p:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// byName returns the floods of these names, all without names.
func byName(names []string) ([]*Flood, error) {
	all := Floods()
	if len(names) == 0 {
		return all, nil
	}
	var out []*Flood
	for _, name := range names {
		i := slices.IndexFunc(all, func(f *Flood) bool { return f.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no flood %q; jepsen hostile --list names all", name)
		}
		out = append(out, all[i])
	}
	return out, nil
}
