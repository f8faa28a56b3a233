package web

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"tenure/api"
)

func TestValueSizes(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f, func(c *Config) { c.MaxValueBytes = 10_000 })
	for _, n := range []int{0, 1, 4095, 4096, 4097, 8192, 9_999, 10_000} {
		body := strings.Repeat("v", n)
		for _, chunked := range []bool{false, true} {
			if code, text := put(t, s, body, chunked); code != 200 || text != "true" || string(f.last.Value) != body {
				t.Errorf("%d bytes, chunked %v: %d %s, stored %d", n, chunked, code, text, len(f.last.Value))
			}
		}
	}
	f.writes = 0
	for _, n := range []int{10_001, 20_000, 1 << 20} {
		for _, chunked := range []bool{false, true} {
			status, text := put(t, s, strings.Repeat("v", n), chunked)
			if status != 413 || text != string(api.CodeTooLarge) {
				t.Errorf("%d bytes, chunked %v: %d %s", n, chunked, status, text)
			}
		}
	}
	if f.writes != 0 {
		t.Errorf("%d writes", f.writes)
	}
}

// put returns the status of a PUT, and its body, or the code of a refusal.
func put(t *testing.T, s *Server, body string, chunked bool) (status int, text string) {
	t.Helper()
	srv := newTestServer(t, s)
	var rd io.Reader = strings.NewReader(body)
	if chunked {
		rd = io.MultiReader(rd) // hides its length
	}
	r, err := http.NewRequest("PUT", "http://"+srv+"/v1/kv/k", rd)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatalf("%d bytes: %v", len(body), err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if code := resp.Header.Get(api.HeaderError); code != "" {
		return resp.StatusCode, code
	}
	return resp.StatusCode, string(b)
}

// newTestServer starts s once a test.
func newTestServer(t *testing.T, s *Server) string {
	if s.listener == nil {
		serve(t, s)
		t.Cleanup(http.DefaultClient.CloseIdleConnections)
	}
	return s.Addr()
}

// Values that share a pooled buffer one after the other do not get into each other.
func TestPooledBodiesDoNotMix(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	for i := range 200 {
		body := bytes.Repeat([]byte{byte('a' + i%26)}, 1+(i*977)%9000)
		call(s, "PUT", fmt.Sprintf("/v1/kv/k%d", i), string(body))
	}
	for i := range 200 {
		e, _, _ := f.state.Get(fmt.Sprintf("k%d", i))
		if want := bytes.Repeat([]byte{byte('a' + i%26)}, 1+(i*977)%9000); !bytes.Equal(e.Value, want) {
			t.Fatalf("k%d: %.20q, %d bytes", i, e.Value, len(e.Value))
		}
	}
}

// A body that does not come whole is 400, changes nothing, and ends its connection.
func TestBrokenBodies(t *testing.T) {
	f := newFake(t)
	addr := serve(t, newServer(t, f))
	const start = "PUT /v1/kv/k HTTP/1.1\r\nHost: x\r\n"
	for name, text := range map[string]string{
		"no chunk size":       start + "Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
		"chunk too short":     start + "Transfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n",
		"chunk size overflow": start + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx",
		"negative chunk":      start + "Transfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n0\r\n\r\n",
		"second chunk broken": start + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n?\r\n",
	} {
		got := say(t, addr, text)
		if !strings.HasPrefix(got, "HTTP/1.1 400") || !says(got, api.CodeInvalid) || !strings.Contains(got, "Connection: close") {
			t.Errorf("%s: %q", name, got)
		}
	}
	for name, text := range map[string]string{
		"cut in a chunk":      start + "Transfer-Encoding: chunked\r\n\r\n5\r\nhel",
		"no last chunk":       start + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		"fewer than declared": start + "Content-Length: 10\r\n\r\nhello",
	} {
		c := dial(t, addr)
		_, _ = io.WriteString(c, text)
		_ = c.(interface{ CloseWrite() error }).CloseWrite()
		got, _ := io.ReadAll(c)
		if !strings.HasPrefix(string(got), "HTTP/1.1 400") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if f.writes != 0 || f.last.Key != "" {
		t.Errorf("%d writes, last %+v", f.writes, f.last)
	}
}

// A length over the limit is refused before the body comes, so a client that waits for 100 Continue sends nothing.
func TestDeclaredLengthOverTheLimit(t *testing.T) {
	f := newFake(t)
	addr := serve(t, newServer(t, f))
	for _, expect := range []string{"", "Expect: 100-continue\r\n"} {
		got := say(t, addr, "PUT /v1/kv/k HTTP/1.1\r\nHost: x\r\nContent-Length: 17179869184\r\n"+expect+"\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 413") || !says(got, api.CodeTooLarge) || !strings.Contains(got, "Connection: close") {
			t.Errorf("%q", got)
		}
	}
}

// A declared length alone allocates next to nothing.
func TestDeclaredLengthDoesNotAllocate(t *testing.T) {
	var b bodies
	r, err := http.NewRequest("PUT", "http://x/v1/kv/k", io.NopCloser(strings.NewReader("short")))
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = 16 << 20
	var p []byte
	if _, err := b.read(&exchange{r: r, began: time.Now()}, &p, 16<<20); err != nil {
		t.Fatal(err) // net/http's own body reader is what notices the missing bytes
	}
	if cap(p) > firstBodyBytes {
		t.Errorf("%d bytes allocated for 5", cap(p))
	}
}

// A sender that stops is let go; nothing is applied.
func TestSlowBody(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f, func(c *Config) {
		c.HeaderTimeout, c.BodyTimeout = 100*time.Millisecond, 100*time.Millisecond
	})
	addr := serve(t, s)
	got := say(t, addr, "PUT /v1/kv/k HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel")
	if !strings.HasPrefix(got, "HTTP/1.1 400") || !says(got, api.CodeInvalid) {
		t.Errorf("%q", got)
	}
	if f.last.Key != "" {
		t.Error("applied")
	}
}
