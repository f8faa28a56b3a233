package web

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/server/service"
)

// served has s answer r, which ends soon if it would wait. Whatever r is, the answer has a code of ours or is a success,
// is none of the node's failures, and costs no more memory than bytes came.
func served(t *testing.T, s *Server, r *http.Request, bytes int) *httptest.ResponseRecorder {
	t.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 20*time.Millisecond)
	defer cancel()
	w := httptest.NewRecorder()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	func() {
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				panic(p)
			}
		}()
		s.ServeHTTP(w, r.WithContext(ctx))
	}()
	runtime.ReadMemStats(&after)
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(2<<20+64*bytes); got > most {
		t.Fatalf("%d bytes allocated for a request of %d", got, bytes)
	}
	if wrong := checkCode(w.Code, w.Header()); wrong != "" || code(w) == api.CodeInternal {
		t.Fatalf("%s %q: %d %s %s", r.Method, r.RequestURI, w.Code, w.Body, wrong)
	}
	return w
}

// FuzzRequest has whole requests as they come from strangers: paths, queries, headers and bodies together.
func FuzzRequest(f *testing.F) {
	for _, text := range []string{
		"GET /v1/kv/a%2Fb?recurse&separator=/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"PUT /v1/kv/k?cas=1&flags=2 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nIdempotency-Key: a\r\nX-Tenure-Base: 1\r\n\r\nhello",
		"GET /v1/kv/k?index=1&wait=1s HTTP/1.1\r\nHost: x\r\nX-Tenure-Timeout-Ms: 5\r\n\r\n",
		"GET /v1/watch?prefix=a HTTP/1.1\r\nHost: x\r\nLast-Event-ID: 7\r\n\r\n",
		"POST /v1/lease/a%20b/acquire HTTP/1.1\r\nHost: x\r\nContent-Length: 24\r\n\r\n{\"Owner\":\"o\",\"TTL\":\"1s\"}",
		"POST /v1/members/add HTTP/1.1\r\nHost: x\r\nOrigin: http://evil.example\r\nContent-Length: 2\r\n\r\n{}",
		"PUT /v1/txn HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n",
		"GET /v1/status HTTP/1.1\r\nHost: rebound.example\r\n\r\n",
		"GET /v1/kv/k HTTP/1.1\r\nHost: x\r\nX-Consul-Token: t\r\nAuthorization: Bearer t\r\n\r\n",
		"DELETE /v1/kv/?recurse HTTP/1.1\r\nHost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\n",
	} {
		f.Add([]byte(text))
	}
	s := newServer(f, newFake(f))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
		if err != nil || strings.HasPrefix(r.URL.Path, api.PathMetrics) || strings.HasPrefix(r.URL.Path, api.PathBackup) {
			return // the page of metrics is large, and the fake has no backup
		}
		r.RemoteAddr = "192.0.2.1:1234"
		served(t, s, r, len(text))
	})
}

// FuzzJSONBodies has the bodies of all endpoints that read JSON.
func FuzzJSONBodies(f *testing.F) {
	const id = "8a3f2c60-9d5e-4b1a-8f27-0c6d1e5b7a94"
	targets := []string{"PUT /v1/session/create", "PUT /v1/session/renew/" + id, "POST /v1/kv/k", "PUT /v1/txn",
		"POST /v1/lease/l/acquire", "POST /v1/lease/l/renew", "POST /v1/lease/l/release", "POST /v1/leases/renew",
		"PUT /v1/quota/a/", "POST /v1/master/transfer", "POST /v1/members/add", "POST /v1/members/remove",
		"POST /v1/members/replace", "POST /v1/members/promote", "POST /v1/members/update", "POST /v1/members/cancel",
		"POST /v1/members/readmit", "POST /v1/members/drain", "POST /v1/upgrade/finish"}
	for i := range targets {
		for _, body := range []string{
			`{}`, `[]`, `null`, `{"Name":"n","TTL":"10s","LockDelay":"1s","Behavior":"delete","Checks":[]}`,
			`{"Owner":"o","TTL":"1s","Acquisition":"a","Wait":"1s","Grant":"g"}`, `{"Op":"add","Num":1}`,
			`{"Grants":["a","b"]}`, `{"MaxBytes":1,"MaxKeys":2}`, `{"node":2,"name":"n","peer_address":"h:1","id":"x"}`,
			`[{"KV":{"Verb":"set","Key":"k","Value":"YQ=="}}]`, `{"a":` + strings.Repeat(`{"a":`, 100),
			`{"Op":"expire","TTL":"-1s"}`, `{"Node":1e400}`, "{\"Name\":\"\xff\"}",
		} {
			f.Add(uint8(i), body)
		}
	}
	s := newServer(f, newFake(f))
	f.Fuzz(func(t *testing.T, which uint8, body string) {
		method, path, _ := strings.Cut(targets[int(which)%len(targets)], " ")
		served(t, s, httptest.NewRequest(method, path, strings.NewReader(body)), len(body))
	})
}

// FuzzHeaders has the headers that mean something here, on requests that are right otherwise.
func FuzzHeaders(f *testing.F) {
	headers := []string{"Idempotency-Key", "X-Tenure-Base", api.HeaderTimeoutMS, api.HeaderLastEventID, "X-Consul-Token",
		"Authorization", "Expect", "Content-Type", "Accept", "Sec-Fetch-Site", "Origin", "X-Forwarded-For"}
	for i := range headers {
		for _, v := range []string{"", "1", "-1", "18446744073709551616", "Bearer x", "null", "http://127.0.0.1", "\xff", "a,b"} {
			f.Add(uint8(i), v)
		}
	}
	s := newServer(f, newFake(f))
	f.Fuzz(func(t *testing.T, which uint8, value string) {
		name := headers[int(which)%len(headers)]
		for _, target := range []string{"PUT /v1/kv/k", "GET /v1/kv/k", "GET /v1/watch", "PUT /v1/txn", "DELETE /v1/kv/k"} {
			method, path, _ := strings.Cut(target, " ")
			r := httptest.NewRequest(method, path, strings.NewReader("[]"))
			r.Header[http.CanonicalHeaderKey(name)] = []string{value}
			served(t, s, r, len(value))
		}
	})
}

// FuzzHost: a node answers by its own names and by addresses in figures, which nobody can rebind, and by no other.
func FuzzHost(f *testing.F) {
	for _, h := range []string{"", "localhost", "LOCALHOST.:80", "127.0.0.1:8500", "[::1]:8500", "::1", "kv.example.com",
		"kv.example.com.evil.example", "127.0.0.1.evil.example", "1.2.3.4x", "[::1].evil.example", "localhost:80:80", "0x7f.1", "[::1%25eth0]"} {
		f.Add(h)
	}
	hosts := NewHosts([]string{"kv.example.com"})
	f.Fuzz(func(t *testing.T, host string) {
		if !hosts.Serves(host) || host == "" {
			return
		}
		name := host
		if i := strings.LastIndexByte(host, ':'); i >= 0 && strings.Trim(host[i+1:], "0123456789") == "" {
			name = host[:i]
		}
		bare := strings.ToLower(strings.TrimSuffix(name, "."))
		if bare == "localhost" || bare == "kv.example.com" {
			return
		}
		_, err := netip.ParseAddr(strings.Trim(name, "[]"))
		if _, whole := netip.ParseAddr(host); err != nil && whole != nil {
			t.Fatalf("%q is served", host)
		}
	})
}

// FuzzLeaseName draws names of leases in paths: a refused name never reaches the Backend, and an accepted one reaches
// it unchanged.
func FuzzLeaseName(f *testing.F) {
	for _, name := range []string{"a", "a/b", "a/acquire", "%2F", "", " ", "ü", strings.Repeat("x", 257), "\x00", "a?b"} {
		f.Add(name)
	}
	fk := newFake(f)
	s := newServer(f, fk)
	f.Fuzz(func(t *testing.T, name string) {
		fk.leases = nil
		r := httptest.NewRequest("POST", "/v1/lease/x/acquire", strings.NewReader(`{"Owner":"o","TTL":"1s"}`))
		r.URL.Path = api.PathLease + name + api.LeaseAcquire
		w := served(t, s, r, len(name))
		switch valid := service.ValidateLeaseName(name) == nil; {
		case valid != (len(fk.leases) == 1):
			t.Fatalf("%q: %d, %d requests", name, w.Code, len(fk.leases))
		case valid && fk.leases[0].Name != name:
			t.Fatalf("%q was taken for %q", name, fk.leases[0].Name)
		}
	})
}

// pieces returns rest in pieces of the given sizes.
type pieces struct {
	rest  []byte
	sizes []byte
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := min(len(p.rest), len(b))
	if len(p.sizes) > 0 {
		n, p.sizes = min(n, int(p.sizes[0])+1), p.sizes[1:]
	}
	copy(b, p.rest[:n])
	p.rest = p.rest[n:]
	return n, nil
}

// FuzzBody reads bodies that declare one length and have another, in any pieces.
func FuzzBody(f *testing.F) {
	f.Add([]byte("hello"), int64(5), []byte{0, 0})
	f.Add([]byte("hello"), int64(1<<40), []byte{})
	f.Add([]byte(""), int64(-1), []byte{})
	f.Add(make([]byte, 9000), int64(-1), []byte{255, 1})
	var in bodies
	f.Fuzz(func(t *testing.T, body []byte, declared int64, sizes []byte) {
		const limit = 8 << 10
		r := &http.Request{ContentLength: max(declared, -1), Body: io.NopCloser(&pieces{bytes.Clone(body), sizes})}
		var p []byte
		got, err := in.read(&exchange{r: r, began: time.Now()}, &p, limit)
		switch {
		case cap(p) > 2*limit+2:
			t.Fatalf("%d bytes allocated", cap(p))
		case err != nil && !isCoded(err):
			t.Fatal(err)
		case err == nil && r.ContentLength != 0 && !bytes.Equal(got, body):
			t.Fatalf("%d of %d bytes", len(got), len(body))
		case (err != nil) != (r.ContentLength != 0 && (r.ContentLength > limit || len(body) > limit)):
			t.Fatalf("declared %d, %d bytes: %v", r.ContentLength, len(body), err)
		}
	})
}

func isCoded(err error) bool {
	_, ok := service.CodeOf(err)
	return ok
}
