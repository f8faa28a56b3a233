package web

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"testing"

	"tenure/internal/certs"
	"tenure/internal/certs/certstest"
	"tenure/kv"
	"tenure/server/service"
)

// BenchmarkTLS is a read of a value over a connection that is open, with TLS and without. The client is the same in both,
// and its decryption is counted too.
func BenchmarkTLS(b *testing.B) {
	ca := certstest.New(b, "prod")
	files := certs.Clients{Files: certstest.Load(b, ca.Node(b, "n1")), MinVersion: tls.VersionTLS13}
	for _, size := range []int{256, 64 << 10, 512 << 10} {
		for _, secure := range []bool{false, true} {
			b.Run(fmt.Sprintf("bytes=%d/tls=%v", size, secure), func(b *testing.B) {
				cfg := testConfig()
				dial := func(addr string) (net.Conn, error) { return net.Dial("tcp", addr) }
				if secure {
					cfg.TLS = files.Config()
					dial = func(addr string) (net.Conn, error) { return tls.Dial("tcp", addr, &tls.Config{RootCAs: ca.Pool(b)}) }
				}
				s, err := New(cfg, service.FrontOf(&still{newFake(b), kv.Entry{Key: "k", Value: make([]byte, size), CreateIndex: 5, ModifyIndex: 123456}}))
				if err != nil {
					b.Fatal(err)
				}
				c, err := dial(serve(b, s))
				if err != nil {
					b.Fatal(err)
				}
				defer c.Close()
				readAgain(b, c)
			})
		}
	}
}

// readAgain asks for the value again and again.
func readAgain(b *testing.B, c net.Conn) {
	request := []byte("GET /v1/kv/k?raw HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	in := bufio.NewReaderSize(c, 64<<10)
	if _, err := c.Write(request); err != nil {
		b.Fatal(err)
	}
	reply := make([]byte, replyBytes(b, in))
	b.SetBytes(int64(len(reply)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(request); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(in, reply); err != nil {
			b.Fatal(err)
		}
	}
}
