package hostile

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"tenure/client"
)

// Case is one connection that must get one answer and no other.
type Case struct {
	Name, Must, Got string
	Wrong           string // "": it was right
}

func (c Case) line() string {
	if c.Wrong != "" {
		return fmt.Sprintf("%-44s BROKEN: %s", c.Name, c.Wrong)
	}
	return fmt.Sprintf("%-44s %s", c.Name, c.Got)
}

const caseTimeout = 10 * time.Second

// hiddenKey is written by the request that stands behind others: by none may it be.
const hiddenKey = "hostile/hidden"

const (
	put     = "PUT /v1/kv/hostile/k HTTP/1.1\r\nHost: 127.0.0.1\r\n"
	chunked = "Transfer-Encoding: chunked\r\n"
	end     = "0\r\n\r\n"
	hidden  = "PUT /v1/kv/" + hiddenKey + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n"
)

// lengthOfAll is the Content-Length that makes what stands behind a request a part of it.
var lengthOfAll = fmt.Sprintf("Content-Length: %d\r\n", len(end+hidden))

// smuggled are requests about whose end two programs may differ, and the status that each must get.
var smuggled = []struct{ name, text, status string }{
	{"Content-Length and chunks", put + lengthOfAll + chunked + "\r\n" + end, "200"},
	{"chunks and Content-Length", put + chunked + lengthOfAll + "\r\n" + end, "200"},
	{"two Content-Lengths", put + "Content-Length: 0\r\n" + lengthOfAll + "\r\n", "400"},
	{"a list of Content-Lengths", put + "Content-Length: 0, 90\r\n\r\n", "400"},
	{"a Content-Length with a sign", put + "Content-Length: +0\r\n\r\n", "400"},
	{"a Content-Length beyond 64 bit", put + "Content-Length: 18446744073709551616\r\n\r\n", "400"},
	{"Transfer-Encoding on a folded line",
		put + "Transfer-Encoding:\r\n chunked\r\n" + lengthOfAll + "\r\n" + end, "200"},
	{"Transfer-Encoding: xchunked", put + "Transfer-Encoding: xchunked\r\n" + lengthOfAll + "\r\n" + end, "501"},
	{"two Transfer-Encodings", put + chunked + "Transfer-Encoding: identity\r\n\r\n" + end, "501"},
	{"a space before the colon", put + "Transfer-Encoding : chunked\r\n\r\n" + end, "400"},
	{"chunks in HTTP/1.0",
		strings.Replace(put, "1.1", "1.0", 1) + "Connection: keep-alive\r\n" + chunked + "\r\n" + end, "200"},
	{"a bare CR in a header", put + "X: a\rContent-Length: 90\r\nContent-Length: 0\r\n\r\n", "400"},
	{"a chunk of 0x0", put + chunked + "\r\n0x0\r\n\r\n", "400"},
	{"a chunk of +0", put + chunked + "\r\n+0\r\n\r\n", "400"},
	{"a chunk of 2^64", put + chunked + "\r\n10000000000000000\r\n\r\n", "400"},
	{"chunks with bare LF", put + chunked + "\r\n0\n\n", "400"},
	{"a chunk longer than it says", put + chunked + "\r\n1\r\naXX" + end, "400"},
	{"a chunk extension with LF", put + chunked + "\r\n5;a\nhello\r\n" + end, "400"},
}

// cases plays all single connections on the first node of the bed.
func (b *bed) cases(ctx context.Context) ([]Case, error) {
	n := b.cluster.Node(1)
	if b.tls != nil {
		return b.secureCases(n.Client)
	}
	var out []Case
	for _, s := range smuggled {
		c := Case{Name: s.name, Must: s.status + ", and nothing of what stands behind it"}
		got := exchange(n.Client, s.text+hidden)
		c.Got = firstLine(got)
		if !strings.Contains(c.Got, " "+s.status) || strings.Count(got, "HTTP/1.") != 1 {
			c.Wrong = fmt.Sprintf("%.300q", got)
		}
		out = append(out, c)
	}
	for _, q := range []struct{ name, text, must, status string }{
		{"a Content-Length that lies, over the limit", put + "Content-Length: 17179869184\r\n\r\n", "413 at once",
			" 413 "},
		{"a Content-Length that lies, under it", put + "Content-Length: 400000\r\n\r\nshort", "400 in time",
			" 400 "},
		{"HTTP/2 without TLS", oddities[2], "505, and that it is not spoken", " 505 "},
		{"a hello of TLS on the plain port", oddities[0] + strings.Repeat("\x00", 300), "400 or the end", ""},
		{"headers of 100 KiB", put + "X: " + strings.Repeat("x", 100<<10) + "\r\n\r\n", "431", " 431 "},
		{"a Host that is not the node's",
			"GET /v1/kv/k HTTP/1.1\r\nHost: rebound.example\r\nConnection: close\r\n\r\n", "403", " 403 "},
	} {
		c := Case{Name: q.name, Must: q.must}
		got := exchange(n.Client, q.text)
		c.Got = firstLine(got)
		if q.status != "" && !strings.Contains(c.Got+" ", q.status) || strings.HasPrefix(c.Got, "open") {
			c.Wrong = fmt.Sprintf("%.300q", got)
		}
		out = append(out, c)
	}
	return append(out, b.nothingHidden(ctx)), nil
}

// nothingHidden is the case that no request was smuggled in.
func (b *bed) nothingHidden(ctx context.Context) Case {
	c := Case{Name: "the key that smuggled requests write", Must: "is not there", Got: "is not there"}
	all, err := b.client()
	if err == nil {
		defer all.Close()
		_, _, err = all.Get(ctx, hiddenKey, client.ReadOptions{})
	}
	if !errors.Is(err, client.ErrNotFound) {
		c.Got, c.Wrong = "is there", fmt.Sprintf("it is there: %v", err)
	}
	return c
}

// exchange sends text and returns what comes until the other side ends the connection.
func exchange(addr, text string) string {
	c, err := net.DialTimeout("tcp", addr, dialTimeout)
	if err != nil {
		return "not accepted: " + err.Error()
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(caseTimeout))
	_, _ = io.WriteString(c, text) // an answer may have come before all of it was read
	got, err := io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "open after " + caseTimeout.String() + ": " + string(got)
	}
	return string(got)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\r\n")
	switch {
	case line == "":
		return "the end"
	case strings.HasPrefix(line, "HTTP/"), strings.HasPrefix(line, "open"), strings.HasPrefix(line, "not"):
		return line
	}
	return fmt.Sprintf("%.20q", line)
}

// secureCases are those of the port that speaks TLS.
func (b *bed) secureCases(addr string) ([]Case, error) {
	var out []Case
	plain := Case{Name: "plain HTTP on the port for TLS", Must: "400, and that it is TLS"}
	got := exchange(addr, "GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	if plain.Got = firstLine(got); !strings.Contains(got, "HTTPS server") {
		plain.Wrong = fmt.Sprintf("%.300q", got)
	}
	out = append(out, plain)
	for _, v := range []struct {
		name string
		max  uint16
		ok   bool
	}{{"TLS 1.0", tls.VersionTLS10, false}, {"TLS 1.1", tls.VersionTLS11, false}, {"TLS 1.2", tls.VersionTLS12, false},
		{"TLS 1.3", tls.VersionTLS13, true}} {
		c := Case{Name: v.name, Must: "refused", Got: "refused"}
		if v.ok {
			c.Must = "spoken"
		}
		conn, err := tls.DialWithDialer(&net.Dialer{Timeout: caseTimeout}, "tcp", addr,
			&tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: v.max})
		if err == nil {
			c.Got = "spoken"
			_ = conn.Close()
		}
		if (err == nil) != v.ok {
			c.Wrong = fmt.Sprintf("%s: %v", c.Got, err)
		}
		out = append(out, c)
	}
	h2 := Case{Name: "HTTP/2 by the negotiation of TLS", Must: "not agreed to", Got: "not agreed to"}
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: caseTimeout}, "tcp", addr,
		&tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		h2.Wrong = err.Error()
	} else {
		if p := conn.ConnectionState().NegotiatedProtocol; p != "http/1.1" {
			h2.Got, h2.Wrong = p, fmt.Sprintf("%q was agreed to", p)
		}
		_ = conn.Close()
	}
	return append(out, h2), nil
}
