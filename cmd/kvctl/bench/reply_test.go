package bench

import (
	"strings"
	"testing"

	"tenure/api"
)

// repliesOf returns the answers on a connection over which this text comes.
func repliesOf(text string) *replies {
	s := &replies{}
	s.reset(strings.NewReader(text))
	return s
}

func TestReply(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	for _, x := range []struct {
		text  string
		code  int
		begin string
		close bool
	}{
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfalse", 200, "false", false},
		{"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nConnection: Close\r\n\r\ntrue", 200, "true", true},
		{"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404, "", false},
		{"HTTP/1.1 204 No Content\r\n\r\n", 204, "", false},
		{"HTTP/1.1 200\nContent-Length: 2\n\n[]", 200, "[]", false},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n", 200, "abcde", false},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", 200, "a", false},
		{"HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n" + long, 200, "xxxxx", false},
	} {
		in := repliesOf(x.text + "HTTP/1.1 507 Next\r\nContent-Length: 0\r\n\r\n")
		var r reply
		if err := in.read(&r); err != nil || r.code != x.code || !strings.HasPrefix(string(r.text), x.begin) || r.close != x.close {
			t.Errorf("%.60q: %+v, %v", x.text, r, err)
		}
		if err := in.read(&r); err != nil || r.code != 507 {
			t.Errorf("after %.60q: %+v, %v", x.text, r, err)
		}
	}
}

func TestReplyHeaders(t *testing.T) {
	in := repliesOf("HTTP/1.1 200 OK\r\nX-Tenure-Index: 17\r\nX-Consul-Index:  16 \r\nContent-Length: 0\r\n\r\n")
	var r reply
	if err := in.read(&r); err != nil || r.revision != 17 || r.index != 16 {
		t.Fatalf("%+v, %v", r, err)
	}
}

// An answer without a length goes on to the end of the connection.
func TestReplyUntilTheEnd(t *testing.T) {
	var r reply
	if err := repliesOf("HTTP/1.0 200 OK\r\n\r\nhello").read(&r); err != nil || !r.close || string(r.text) != "hello" {
		t.Fatalf("%+v, %v", r, err)
	}
}

func TestBadReplies(t *testing.T) {
	for text, want := range map[string]kind{
		"":                           lost,
		"HTTP/1.1 200 OK\r\n":        lost,
		"SSH-2.0-OpenSSH_9.2\r\n":    malformed,
		"HTTP/1.1 2x0 OK\r\n\r\n":    malformed,
		"HTTP/1.1 200 OK\r\nodd\r\n": malformed,
		strings.Repeat("x", 100_000): malformed,
		"HTTP/1.1 200 OK\r\nA: b\r\n" + strings.Repeat("A: b\r\n", 20_000): malformed,
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n":                    malformed,
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab":                   lost,
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na":                    lost,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n":               malformed,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab":     lost,
	} {
		var r reply
		if err := repliesOf(text).read(&r); err == nil || ofError(err) != want {
			t.Errorf("%.60q: %v, want %v", text, err, want)
		}
	}
}

// Every code is told as something.
func TestEveryCodeHasAKind(t *testing.T) {
	for _, code := range api.Codes() {
		var r reply
		in := repliesOf("HTTP/1.1 500 No\r\n" + api.HeaderError + ": " + string(code) + "\r\nContent-Length: 0\r\n\r\n")
		if err := in.read(&r); err != nil || r.kind() == done || r.kind() == otherStatus {
			t.Errorf("%s: %v, %+v", code, err, r)
		}
	}
}
