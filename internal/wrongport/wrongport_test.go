package wrongport

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	for first, want := range map[string]Protocol{
		"GET / HTTP/1.1": HTTP, "PUT /v1/kv/a": HTTP, "POST /": HTTP, "HEAD /": HTTP, "DELETE /": HTTP, "OPTIONS *": HTTP,
		"PATCH /": HTTP, "CONNECT a:1": HTTP, "PRI * HTTP/2.0": HTTP,
		"\x16\x03\x01\x02\x00\x01": TLS, "\x16\x03\x04\x02\x00": TLS,
		"*1\r\n$4\r\nPING": Redis, "*12\r\n$": Redis,
		"": Unknown, "GET": Unknown, "get a\r\n": Unknown, "GET a b\r\n": Unknown, "*1 a b c": Unknown, "\x00\x00\x01\x00T": Unknown,
		"\x16\x04\x00\x00\x00": Unknown, "\r\n\r\nGET": Unknown,
	} {
		if got := Of([]byte(first)); got != want {
			t.Errorf("%q: %q, want %q", first, got, want)
		}
	}
}

func TestAnswer(t *testing.T) {
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(Answer(HTTP, Peers))), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusBadRequest || !resp.Close {
		t.Fatalf("%+v %v", resp, err)
	}
	const want = "this is the port of a Tenure node for its peers (kvnode --peer), and not for HTTP (kvnode --client)"
	if got := Told(string(body)); got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	if got := Told("400 Bad Request"); got != "" {
		t.Errorf("another server's answer: %q", got)
	}
	if got := string(Answer(Redis, Clients)); !strings.HasPrefix(got, "-ERR ") || strings.Count(got, "\r\n") != 1 {
		t.Errorf("%q", got)
	}
	if OfAnswer(Answer(Frames, Clients)) != HTTP || OfAnswer(Answer(Redis, Clients)) != Unknown {
		t.Error("a peer does not know the answer")
	}
}
