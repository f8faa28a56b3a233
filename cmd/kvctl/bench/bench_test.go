package bench

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"

	"tenure/client"
)

// answerer is a node that costs as little as one can: it looks for the end of each request and writes bytes made
// before.
func answerer(b *testing.B) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	body := `[{"LockIndex":0,"Key":"b/00000001","Flags":0,"Value":"` + string(bytes.Repeat([]byte("dmFs"), 86)) + `","CreateIndex":1,"ModifyIndex":2}]`
	get := headed(body, "X-Consul-Index: 2\r\nX-Consul-Knownleader: true\r\nX-Consul-Lastcontact: 0\r\nX-Tenure-Index: 17\r\n")
	put := headed("true", "X-Tenure-Index: 17\r\n")
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answer(c, get, put)
		}
	}()
	return l.Addr().String()
}

func headed(body, headers string) []byte {
	return []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + headers + "Date: Sat, 21 Nov 2026 19:00:00 GMT\r\nContent-Length: " +
		strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}

func answer(c net.Conn, get, put []byte) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		text, length := get, 0
		for {
			line, err := in.ReadSlice('\n')
			if err != nil {
				return
			}
			if bytes.HasPrefix(line, []byte("PUT")) {
				text = put
			}
			if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
				length, _ = strconv.Atoi(string(bytes.TrimSpace(v)))
			}
			if len(line) <= 2 {
				break
			}
		}
		if _, err := in.Discard(length); err != nil {
			return
		}
		if _, err := c.Write(text); err != nil {
			return
		}
	}
}

// BenchmarkRequest compares the cost of a request in this package, in net/http, and in the Go client, against a server
// that costs next to nothing. cpu-ns/op covers the whole process, with the server.
func BenchmarkRequest(b *testing.B) {
	value := make([]byte, 256)
	ctx := context.Background()
	run := func(name string, do func(addr string) (put, get func() bool)) {
		for _, op := range []string{"put", "get"} {
			b.Run(name+"/"+op, func(b *testing.B) {
				f, get := do(answerer(b))
				if op == "get" {
					f = get
				}
				f()
				b.ReportAllocs()
				before := cpuTime()
				for b.Loop() {
					if !f() {
						b.Fatal("failed")
					}
				}
				b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
			})
		}
	}
	run("bench", func(addr string) (func() bool, func() bool) {
		m := newMaster(&Config{Endpoints: []string{addr}})
		c := newConn([]string{addr}, 0, m, (&net.Dialer{}).DialContext, time.Minute)
		target := []byte("/v1/kv/b/00000001")
		return func() bool { return c.do(ctx, time.Now(), "PUT", target, value) == done },
			func() bool { return c.do(ctx, time.Now(), "GET", target, nil) == done }
	})
	run("net-http", func(addr string) (func() bool, func() bool) {
		h := &http.Client{Transport: &http.Transport{DisableCompression: true}}
		do := func(method string, body io.Reader) bool {
			r, err := http.NewRequestWithContext(ctx, method, "http://"+addr+"/v1/kv/b/00000001", body)
			if err != nil {
				return false
			}
			a, err := h.Do(r)
			if err != nil {
				return false
			}
			_, err = io.ReadAll(a.Body)
			return err == nil && a.Body.Close() == nil && a.StatusCode == 200
		}
		return func() bool { return do("PUT", bytes.NewReader(value)) }, func() bool { return do("GET", nil) }
	})
	run("client", func(addr string) (func() bool, func() bool) {
		c, err := client.New(client.Config{Endpoints: []string{addr}})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(c.Close)
		return func() bool {
				_, err := c.Set(ctx, "b/00000001", value, client.WriteOptions{})
				return err == nil
			}, func() bool {
				_, _, err := c.Get(ctx, "b/00000001", client.ReadOptions{})
				return err == nil
			}
	})
}
