package hostile

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
)

// oddities are what comes on a port for which it was not meant.
var oddities = []string{
	"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03",                         // a hello of TLS
	"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10",                         // of SSL 2
	"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", // HTTP/2
	"SSH-2.0-OpenSSH_9.6\r\n",
	"*1\r\n$4\r\nPING\r\n",
	"\x00\x00\x00\x00",
	"\xff\xff\xff\xff\xff\xff\xff\xff",
	"EHLO example.com\r\n",
	"GET / HTTP/0.9\r\n\r\n",
	"\r\n\r\n\r\n\r\n",
	"OPTIONS * RTSP/1.0\r\n\r\n",
}

func scan(ctx context.Context, c *conn) {
	text := oddities[rand.IntN(len(oddities))]
	if rand.IntN(2) == 0 {
		noise := make([]byte, 1+rand.IntN(300))
		for i := range noise {
			noise[i] = byte(rand.Uint32())
		}
		text += string(noise)
	}
	c.say(ctx, text)
}

// say sends text and waits for what comes of it.
func (c *conn) say(ctx context.Context, text string) {
	if c.send(text) {
		c.hear(ctx)
	} else {
		c.a.cut.Add(1)
	}
}

// hello begins TLS 1.2, with no cipher that anybody speaks.
var hello = "\x16\x03\x01\x00\x40\x01\x00\x00\x3c\x03\x03" + string(make([]byte, 0x35))

var brokenTLS = []string{hello[:7], hello, "\x15\x03\x01\x00\x02\x02\x28", "\x16\x03\x00\x00\x01\x00",
	"\x17\x03\x03\xff\xff", plainGet + "\r\n", oddities[1]}

func tlsGarbage(ctx context.Context, c *conn) { c.say(ctx, brokenTLS[rand.IntN(len(brokenTLS))]) }

// tlsHellos makes the node sign for each connection, and asks for nothing that it may have.
func tlsHellos(ctx context.Context, c *conn) {
	t := tls.Client(c.Conn, &tls.Config{InsecureSkipVerify: true})
	if t.HandshakeContext(ctx) != nil {
		if ctx.Err() == nil {
			c.a.cut.Add(1)
		}
		return
	}
	s := &conn{t, c.a}
	if s.send("BREW /v1/kv/k HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n") {
		s.hear(ctx)
	}
}
