package client

import (
	"context"
	"net"
	"net/http/httptrace"
	"testing"
)

func TestSentBytesCountFromTheRequestOn(t *testing.T) {
	ours, theirs := net.Pipe()
	go func() { // takes 4 bytes, then the connection is dead
		_, _ = theirs.Read(make([]byte, 4))
		_, _ = theirs.Read(make([]byte, 4))
		_ = theirs.Close()
	}()
	conn, err := countBytes(func(context.Context, string, string) (net.Conn, error) { return ours, nil })(context.Background(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	write := func() { _, _ = conn.Write([]byte("1234")) }
	write()
	var first, second, none sentBytes
	first.gotConn(httptrace.GotConnInfo{Conn: conn})
	if first.any() {
		t.Error("what the request before has written counts")
	}
	write()
	if !first.any() {
		t.Error("what was written does not count")
	}
	second.gotConn(httptrace.GotConnInfo{Conn: conn})
	write()
	if second.any() {
		t.Error("a write to a dead connection counts")
	}
	if none.any() {
		t.Error("no connection counts")
	}
	none.gotConn(httptrace.GotConnInfo{Conn: ours})
	if !none.any() {
		t.Error("a connection that cannot be watched must count")
	}
}
