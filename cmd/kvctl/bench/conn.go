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

// conn is one connection to one node, opened when it is first needed. It is not safe for concurrent use.
type conn struct {
	hosts    []string
	at       int // the node in use, in hosts
	dial     dialer
	token    string // secret of the token that requests carry; "": none
	timeout  time.Duration
	c        net.Conn
	live     atomic.Pointer[net.Conn] // c, for cut
	in       replies
	deadline time.Time
	head     []byte
	pieces   [2][]byte
	reply    reply
}

func newConn(hosts []string, first int, dial dialer, timeout time.Duration) *conn {
	return &conn{hosts: hosts, at: first % len(hosts), dial: dial, timeout: timeout}
}

// open opens a connection if there is none.
func (c *conn) open(ctx context.Context) error {
	if c.c != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	nc, err := c.dial(ctx, "tcp", c.hosts[c.at])
	if err != nil {
		return err
	}
	c.c, c.deadline = nc, time.Time{}
	c.live.Store(&nc)
	if err := ctx.Err(); err != nil { // cut came before there was anything to cut
		c.close()
		return err
	}
	c.in.reset(nc)
	return nil
}

// close closes the connection.
func (c *conn) close() {
	if c.c != nil {
		_ = c.c.Close() // it is not used again, whatever the error
		c.c = nil
		c.live.Store(nil)
	}
}

// cut ends the request in flight. Unlike the other methods it may be called at any time.
func (c *conn) cut() {
	if nc := c.live.Load(); nc != nil {
		_ = (*nc).Close()
	}
}

// do sends one request, with value if it is no GET, and reads the whole answer. What the answer said is in c.reply.
// After a failure the next request goes to the next node.
func (c *conn) do(ctx context.Context, now time.Time, method string, target, value []byte) kind {
	if err := c.open(ctx); err != nil {
		c.at = (c.at + 1) % len(c.hosts)
		if ofError(err) == timedOut {
			return timedOut
		}
		return unreachable
	}
	k, err := c.exchange(now, method, target, value)
	if err != nil {
		k = ofError(err)
		c.at = (c.at + 1) % len(c.hosts)
	}
	if err != nil || c.reply.close {
		c.close()
	}
	return k
}

func (c *conn) exchange(now time.Time, method string, target, value []byte) (kind, error) {
	if limit := now.Add(c.timeout); limit.Sub(c.deadline) > c.timeout/deadlineSlack {
		c.deadline = limit
		if err := c.c.SetDeadline(limit); err != nil {
			return 0, err
		}
	}
	if err := c.send(method, target, value); err != nil {
		return 0, err
	}
	if err := c.in.read(&c.reply); err != nil {
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
func (c *conn) send(method string, target, value []byte) error {
	h := append(append(append(c.head[:0], method...), ' '), target...)
	h = append(append(append(h, " HTTP/1.1\r\nHost: "...), c.hosts[c.at]...), "\r\nUser-Agent: kvctl-bench\r\n"...)
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
		_, err := c.c.Write(c.head)
		return err
	}
	c.pieces = [2][]byte{h, value}
	list := net.Buffers(c.pieces[:])
	_, err := list.WriteTo(c.c)
	return err
}
