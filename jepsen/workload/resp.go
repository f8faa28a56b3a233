package workload

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"tenure/client"
)

// resp is a client of the Redis protocol that hides nothing: each command is sent once, by one connection, and its
// outcome is reported. Libraries repeat commands by themselves.
type resp struct {
	addresses  []string
	at         int
	consistent bool // reads are through a quorum
	dial       func(ctx context.Context, network, address string) (net.Conn, error)

	name string // of the client
	net  net.Conn
	in   *bufio.Reader
	via  string // the connection's name, new for each
	made int    // connections so far
	sent int    // commands on this connection
}

// newResp returns a client that begins at the address of that number.
func newResp(cfg Config, first int) (*resp, error) {
	r := &resp{addresses: rotate(cfg.Redis, first), consistent: cfg.ConsistentOnly, name: strconv.Itoa(first),
		dial: (&net.Dialer{}).DialContext}
	if cfg.TLS == nil {
		return r, nil
	}
	var err error
	r.dial, err = cfg.TLS.Dialler()
	return r, err
}

// respReply is one reply of a node.
type respReply struct {
	text   string
	number int64
	null   bool
	list   []respReply
	err    error // the node has not done the command, or does not know
}

// pipeline sends commands in one write and reads their replies. It returns as many replies as came; the error, if there are
// fewer, is client.ErrNotApplied if nothing was sent, and else client.ErrUnknown. The connection is then closed.
func (r *resp) pipeline(ctx context.Context, commands ...[]string) ([]respReply, error) {
	if err := r.connect(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrNotApplied, err)
	}
	replies, err := r.exchange(ctx, commands)
	if err != nil {
		r.close()
		return replies, fmt.Errorf("%w: %w", client.ErrUnknown, err)
	}
	for _, a := range replies {
		if errors.Is(a.err, client.ErrNotApplied) { // another node may be able to
			r.close()
			break
		}
	}
	return replies, nil
}

func (r *resp) exchange(ctx context.Context, commands [][]string) (replies []respReply, err error) {
	until, _ := ctx.Deadline()
	if err := r.net.SetDeadline(until); err != nil {
		return nil, err
	}
	r.sent += len(commands)
	if _, err := r.net.Write(encode(commands)); err != nil {
		return nil, err
	}
	for range commands {
		a, err := r.read()
		if err != nil {
			return replies, err
		}
		replies = append(replies, a)
	}
	return replies, nil
}

// abandon sends commands and does not wait for their replies: the connection breaks, as it does when a network fails.
func (r *resp) abandon(ctx context.Context, commands ...[]string) {
	if r.connect(ctx) != nil {
		return
	}
	_, _ = r.net.Write(encode(commands))
	r.close()
}

// connect makes a connection to the next node that takes one, unless there is one.
func (r *resp) connect(ctx context.Context) (err error) {
	if r.net != nil {
		return nil
	}
	for range r.addresses {
		if r.net, err = r.dial(ctx, "tcp", r.addresses[r.at]); err == nil {
			r.in, r.sent, r.made = bufio.NewReader(r.net), 0, r.made+1
			r.via = fmt.Sprintf("%s-%d", r.name, r.made)
			if r.consistent {
				_, err = r.exchange(ctx, [][]string{{"TENURE.READ", "consistent"}})
				r.sent = 0
			}
			if err == nil {
				return nil
			}
			r.close()
		}
		r.net, r.at = nil, (r.at+1)%len(r.addresses)
	}
	return err
}

// close ends the connection; the next one is to another node.
func (r *resp) close() {
	if r.net != nil {
		_ = r.net.Close()
		r.net, r.at = nil, (r.at+1)%len(r.addresses)
	}
}

func encode(commands [][]string) []byte {
	var b []byte
	for _, c := range commands {
		b = fmt.Appendf(b, "*%d\r\n", len(c))
		for _, word := range c {
			b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(word), word)
		}
	}
	return b
}

// read reads a reply of RESP2.
func (r *resp) read() (a respReply, err error) {
	line, err := r.in.ReadString('\n')
	if err != nil {
		return a, err
	}
	if len(line) < 3 {
		return a, fmt.Errorf("no reply: %q", line)
	}
	mark, rest := line[0], line[1:len(line)-2]
	a.text = rest
	switch mark {
	case '-':
		a.err = refusal(rest)
		return a, nil
	case '+':
		return a, nil
	}
	if a.number, err = strconv.ParseInt(rest, 10, 64); err != nil || a.number > maxAnswer {
		return a, fmt.Errorf("no reply: %q", line)
	}
	switch a.null = a.number < 0 && mark != ':'; {
	case mark == '$' && !a.null:
		text := make([]byte, a.number+2)
		_, err = io.ReadFull(r.in, text)
		a.text = string(text[:a.number])
	case mark == '*' && !a.null:
		for range a.number {
			var one respReply
			if one, err = r.read(); err != nil {
				break
			}
			a.list = append(a.list, one)
		}
	}
	return a, err
}

// errFenced: a larger token was seen. Nothing was changed.
var errFenced = errors.New("fenced")

// refusal returns what an error of a node means.
func refusal(text string) error {
	switch code, _, _ := strings.Cut(text, " "); code {
	case "CLUSTERDOWN", "TRYAGAIN", "LOADING", "OOM":
		return fmt.Errorf("%w: %s", client.ErrNotApplied, text)
	case "FENCED":
		return fmt.Errorf("%w: %s", errFenced, text)
	}
	return fmt.Errorf("%w: %s", client.ErrUnknown, text) // -UNKNOWN, and what no such command should get
}
