package hostile

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"time"
)

const plainGet = "GET /v1/kv/k HTTP/1.1\r\nHost: 127.0.0.1\r\n"

var (
	hugeHeader  = plainGet + "X-Huge: " + strings.Repeat("x", 1<<20) + "\r\n\r\n"
	manyHeaders = plainGet + strings.Repeat("X-Many: 1\r\n", 100) + "\r\n"
)

func hugeHeaders(ctx context.Context, c *conn) {
	c.send(hugeHeader) // the answer comes before all of it is read
	c.hear(ctx)
}

func headerFlood(ctx context.Context, c *conn) { c.ask(ctx, manyHeaders) }

func requests(ctx context.Context, c *conn) { c.ask(ctx, plainGet+"\r\n") }

func tokenRequests(ctx context.Context, c *conn) {
	c.ask(ctx, plainGet+"X-Consul-Token: "+c.a.token+"\r\n\r\n")
}

// ask sends requests on c, one after the other and each when it is its turn, and counts the answers, until ctx ends or
// the connection does.
func (c *conn) ask(ctx context.Context, request string) {
	stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	in := bufio.NewReader(c)
	for c.a.turns.wait(ctx) && c.send(request) {
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			if ctx.Err() == nil {
				c.a.cut.Add(1)
			}
			return
		}
		_, err = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		c.count("HTTP/1.1 "+r.Status, nil)
		if err != nil || r.Close {
			return
		}
	}
}

func waits(ctx context.Context, c *conn) {
	if c.send("GET /v1/kv/never?index=1&wait=10m HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") {
		c.hear(ctx)
	}
}
