package hostile

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tenure/jepsen/cluster"
)

// filler is what is sent when it does not matter what.
var filler = strings.Repeat("x", 1000)

func slowHeaders(ctx context.Context, c *conn) {
	c.drip(ctx, "GET /v1/kv/k HTTP/1.1\r\nHost: 127.0.0.1\r\n", "X-Slow: "+filler, 200*time.Millisecond)
}

func slowBodies(ctx context.Context, c *conn) {
	c.drip(ctx, "PUT /v1/kv/slow HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 400000\r\n\r\n", filler,
		200*time.Millisecond)
}

func dribble(ctx context.Context, c *conn) {
	c.drip(ctx, "G", "ET /v1/kv/k HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "+filler, time.Second)
}

// creep is slow enough for 10,000 connections to be open for as long as the flood goes on.
func creep(ctx context.Context, c *conn) {
	c.drip(ctx, "G", "ET /v1/kv/k HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "+filler, 5*time.Second)
}

// drip sends head at once, and then what follows byte by byte, until ctx ends or the node ends the connection.
func (c *conn) drip(ctx context.Context, head, bytes string, every time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		defer cancel()
		c.hear(ctx)
	}()
	defer func() { cancel(); <-heard }()
	if !c.send(head) {
		return
	}
	for i := 0; cluster.Pause(ctx, every); i++ {
		if !c.send(bytes[i%len(bytes) : i%len(bytes)+1]) {
			return
		}
	}
}

// deaf asks for 10 MiB and reads nothing of it.
func deaf(ctx context.Context, c *conn) {
	c.send(strings.Repeat("GET /v1/kv/"+bigKey+"?raw&stale HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 20))
	<-ctx.Done()
}

// shortLines returns header lines that are as many as fit into so many bytes, each another one.
func shortLines(bytes int) string {
	var b strings.Builder
	for i := 0; b.Len() < bytes; i++ {
		fmt.Fprintf(&b, "%x:\r\n", i)
	}
	return b.String()
}

var halfOfHeaders = "PUT /v1/kv/k HTTP/1.1\r\nHost: 127.0.0.1\r\n" + shortLines(60<<10)

func halfHeaders(ctx context.Context, c *conn) {
	if c.send(halfOfHeaders) {
		c.hear(ctx)
	}
}
