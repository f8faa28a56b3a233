package web

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"tenure/kv"
	"tenure/server/service"
)

// overConn measures one request and its reply over a connection of the real server: parsing and writing,
// the handler, and two crossings of loopback. The client is bytes made before, so that what is counted is the
// server's.
func overConn(b *testing.B, method, target string, body []byte) {
	s, err := New(testConfig(), service.FrontOf(&still{newFake(b), kv.Entry{Key: "bench/key-000123", Value: make([]byte, 256), CreateIndex: 5, ModifyIndex: 123456}}))
	if err != nil {
		b.Fatal(err)
	}
	c, err := net.Dial("tcp", serve(b, s))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	request := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: 127.0.0.1:8500\r\nUser-Agent: bench\r\nContent-Length: %d\r\n\r\n%s", method, target, len(body), body)
	in := bufio.NewReader(c)
	if _, err := c.Write(request); err != nil {
		b.Fatal(err)
	}
	length := replyBytes(b, in)
	reply := make([]byte, length)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(request); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(in, reply); err != nil {
			b.Fatal(err)
		}
	}
	if string(reply[:15]) != "HTTP/1.1 200 OK" {
		b.Fatalf("%q", reply)
	}
}

// replyBytes reads one reply and returns its length: with the same backend all replies have the same length.
func replyBytes(b *testing.B, in *bufio.Reader) int {
	counted := &counter{r: in}
	whole := bufio.NewReaderSize(counted, 1) // 16, bufio's least: what it reads ahead stays within the reply
	r, err := http.ReadResponse(whole, nil)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		b.Fatal(err)
	}
	return counted.n
}

type counter struct {
	r io.Reader
	n int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

func BenchmarkConnGet(b *testing.B)    { overConn(b, "GET", "/v1/kv/bench/key-000123", nil) }
func BenchmarkConnGetRaw(b *testing.B) { overConn(b, "GET", "/v1/kv/bench/key-000123?raw", nil) }
func BenchmarkConnPut(b *testing.B) {
	overConn(b, "PUT", "/v1/kv/bench/key-000123", make([]byte, 256))
}
func BenchmarkConnCas(b *testing.B) {
	overConn(b, "PUT", "/v1/kv/bench/key-000123?cas=12", make([]byte, 256))
}
