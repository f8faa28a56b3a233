package web

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A client that asks again and again and reads nothing has few answers made for it.
func TestLittleLiesUnsent(t *testing.T) {
	f := newFake(t)
	f.set(t, "big", strings.Repeat("v", 64<<10))
	var reads atomic.Int64
	f.onRead = func() { reads.Add(1) }
	s := newServer(t, f)
	c := dial(t, serve(t, s)).(*net.TCPConn)
	if err := c.SetReadBuffer(16 << 10); err != nil { // which bounds what is on its way
		t.Fatal(err)
	}
	request := "GET /v1/kv/big?raw HTTP/1.1\r\nHost: x\r\n\r\n"
	if _, err := c.Write([]byte(strings.Repeat(request, 400))); err != nil {
		t.Fatal(err)
	}
	for before := int64(-1); before != reads.Load(); time.Sleep(300 * time.Millisecond) {
		before = reads.Load()
	}
	if n := reads.Load(); n == 0 || n > 20 {
		t.Errorf("%d answers of 64 KiB were made for a client that reads none", n)
	}
}
