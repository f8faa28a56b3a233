package bench

import (
	"context"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"tenure/api"
)

// deadlineSlack is by how much of the timeout a request's deadline may be too early: setting a deadline costs about as
// much as writing a small request, so one deadline serves many requests.
const deadlineSlack = 4

// smallValue is the size up to which a value is copied behind its request's head, to be written with it.
const smallValue = 16 << 10

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// conn is one connection of a client to its node, and one to the master if some of its requests go there. Each is
// opened when it is first needed. It is not safe for concurrent use.
type conn struct {
	lines   []line // to each of the nodes
	at      int    // the client's node, in lines
	used    int    // the node of the last request
	master  *master
	dial    dialer
	token   string // secret of the token that requests carry; "": none
	timeout time.Duration
	head    []byte
	pieces  [2][]byte
	reply   reply
}

// line is the connection to one node.
type line struct {
	host     string
	c        net.Conn                 // nil: there is none
	live     atomic.Pointer[net.Conn] // c, for cut
	in       replies
	deadline time.Time
}

func newConn(hosts []string, first int, m *master, dial dialer, timeout time.Duration) *conn {
	c := &conn{lines: make([]line, len(hosts)), at: first % len(hosts), master: m, dial: dial, timeout: timeout}
	for i, h := range hosts {
		c.lines[i].host = h
	}
	return c
}

// open opens a connection if there is none.
func (c *conn) open(ctx context.Context, l *line) error {
	if l.c != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	nc, err := c.dial(ctx, "tcp", l.host)
	if err != nil {
		return err
	}
	l.c, l.deadline = nc, time.Time{}
	l.live.Store(&nc)
	if err := ctx.Err(); err != nil { // cut came before there was anything to cut
		l.close()
		return err
	}
	l.in.reset(nc)
	return nil
}

func (l *line) close() {
	if l.c != nil {
		_ = l.c.Close() // it is not used again, whatever the error
		l.c = nil
		l.live.Store(nil)
	}
}

// close closes the connections.
func (c *conn) close() {
	for i := range c.lines {
		c.lines[i].close()
	}
}

// cut ends the request in flight. Unlike the other methods it may be called at any time.
func (c *conn) cut() {
	for i := range c.lines {
		if nc := c.lines[i].live.Load(); nc != nil {
			_ = (*nc).Close()
		}
	}
}

// do sends one request, with value if it is no GET, and reads the whole answer. What the answer said is in c.reply. A
// request for the master goes there, if it is known. After a failure there that is not gone to for a while; after any
// other the next request goes to the next node.
func (c *conn) do(ctx context.Context, now time.Time, method string, target, value []byte) kind {
	c.used = c.at
	if c.master.wants(method) {
		if i := c.master.at(now); i >= 0 {
			c.used = i
		}
	}
	l := &c.lines[c.used]
	if err := c.open(ctx, l); err != nil {
		c.failed(now)
		if ofError(err) == timedOut {
			return timedOut
		}
		return unreachable
	}
	k, err := c.exchange(l, now, method, target, value)
	if err != nil {
		k = ofError(err)
		c.failed(now)
	} else {
		c.master.named(c.reply.master)
	}
	if err != nil || c.reply.close {
		l.close()
	}
	return k
}

// failed has the next request go to another node.
func (c *conn) failed(now time.Time) {
	c.master.failed(c.used, now)
	if c.used == c.at {
		c.at = (c.at + 1) % len(c.lines)
	}
}

func (c *conn) exchange(l *line, now time.Time, method string, target, value []byte) (kind, error) {
	if limit := now.Add(c.timeout); limit.Sub(l.deadline) > c.timeout/deadlineSlack {
		l.deadline = limit
		if err := l.c.SetDeadline(limit); err != nil {
			return 0, err
		}
	}
	if err := c.send(l, method, target, value); err != nil {
		return 0, err
	}
	if err := l.in.read(&c.reply); err != nil {
		return 0, err
	}
	k := c.reply.kind()
	if k == done && method == "PUT" {
		switch string(c.reply.text) {
		case "true":
		case "false":
			k = condition
		default:
			k = malformed
		}
	}
	return k, nil
}

// send writes the request, in one system call.
func (c *conn) send(l *line, method string, target, value []byte) error {
	h := append(append(append(c.head[:0], method...), ' '), target...)
	h = append(append(append(h, " HTTP/1.1\r\nHost: "...), l.host...), "\r\nUser-Agent: kvctl-bench\r\n"...)
	if c.token != "" {
		h = append(append(append(h, api.HeaderToken+": "...), c.token...), "\r\n"...)
	}
	if method != "GET" {
		h = append(strconv.AppendInt(append(h, "Content-Length: "...), int64(len(value)), 10), "\r\n"...)
	}
	h = append(h, "\r\n"...)
	c.head = h
	if len(value) <= smallValue {
		c.head = append(h, value...)
		_, err := l.c.Write(c.head)
		return err
	}
	c.pieces = [2][]byte{h, value}
	list := net.Buffers(c.pieces[:])
	_, err := list.WriteTo(l.c)
	return err
}
