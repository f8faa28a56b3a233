package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"tenure/jepsen/cluster"
)

// oneIn is how many writes, or reads, there are to one that is falsified.
const oneIn = 1000

const (
	lostWrites = "lost-writes"
	staleReads = "stale-reads"
	headIndex  = "X-Consul-Index"
)

// liar stands before every node and makes the cluster lie: some acknowledged writes never happen, or some reads return
// an older state. A run against it must fail, which shows that the checkers work.
type liar struct {
	cluster.HTTPProxies
	kind   string
	turns  atomic.Int64 // operations of the kind so far
	due    atomic.Int64 // lies that have had no opportunity yet
	lies   atomic.Int64
	serial atomic.Int64

	mu   sync.Mutex
	seen map[string]*reads
}

// reads are the newest two different answers to one request.
type reads struct{ older, newer *said }

type said struct {
	status int
	header http.Header
	body   []byte
	index  uint64
}

// sabotage puts a liar of this kind before the endpoints and returns the endpoints for clients. Without a kind they
// stay as they are.
func sabotage(kind string, endpoints []string) ([]string, *liar, error) {
	l := &liar{kind: kind, seen: map[string]*reads{}}
	if kind == "" {
		return endpoints, l, nil
	}
	if kind != lostWrites && kind != staleReads {
		return nil, nil, fmt.Errorf("there is no sabotage %q; there are %s and %s", kind, lostWrites, staleReads)
	}
	var out []string
	for _, e := range endpoints {
		at, err := l.serve(e)
		if err != nil {
			l.Close()
			return nil, nil, err
		}
		out = append(out, at)
	}
	return out, l, nil
}

func (l *liar) count() int { return int(l.lies.Load()) }

func (l *liar) serve(endpoint string) (string, error) {
	return l.Serve(endpoint, func(proxy *httputil.ReverseProxy) http.Handler {
		proxy.ModifyResponse = l.remember
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case l.kind == lostWrites && r.Method == http.MethodPut && l.lose(r, endpoint):
			case l.kind == staleReads && r.Method == http.MethodGet && l.stale(w, r):
				return
			}
			proxy.ServeHTTP(w, r)
		})
	})
}

// turn reports whether it is time for a lie. A lie without an opportunity stays due.
func (l *liar) turn() bool {
	if l.turns.Add(1)%oneIn == 0 {
		l.due.Add(1)
	}
	return l.due.Load() > 0
}

func (l *liar) told() {
	l.due.Add(-1)
	l.lies.Add(1)
}

// lose turns a put that would succeed into one of a key that no client reads. Its client gets a true answer, with a
// revision of its own, to a write that it did not ask for.
func (l *liar) lose(r *http.Request, endpoint string) bool {
	q := r.URL.Query()
	if !strings.HasPrefix(r.URL.Path, "/v1/kv/") || q.Has("acquire") || q.Has("release") || !l.turn() {
		return false
	}
	if want := q.Get("cas"); want != "" && want != modifyIndex(endpoint, r.URL.Path) {
		return false
	}
	q.Del("cas")
	r.URL.RawQuery = q.Encode()
	r.URL.Path, r.URL.RawPath = fmt.Sprintf("/v1/kv/sabotage/%d", l.serial.Add(1)), ""
	l.told()
	return true
}

// modifyIndex returns the index with which a cas of the key would succeed now; "" if that is not known.
func modifyIndex(endpoint, path string) string {
	rsp, err := http.Get(endpoint + (&url.URL{Path: path}).EscapedPath())
	if err != nil {
		return ""
	}
	defer rsp.Body.Close()
	var list []struct{ ModifyIndex uint64 }
	if rsp.StatusCode == http.StatusNotFound {
		return "0"
	}
	if json.NewDecoder(rsp.Body).Decode(&list) != nil || len(list) != 1 {
		return ""
	}
	return strconv.FormatUint(list[0].ModifyIndex, 10)
}

func requestKey(r *http.Request) string {
	q := r.URL.Query()
	q.Del("consistent")
	return r.URL.Path + "?" + q.Encode()
}

// stale repeats an earlier answer to the same request although a newer one has been given. It reports whether it did.
func (l *liar) stale(w http.ResponseWriter, r *http.Request) bool {
	if !strings.HasPrefix(r.URL.Path, "/v1/kv/") || !l.turn() {
		return false
	}
	l.mu.Lock()
	var s *said
	if a := l.seen[requestKey(r)]; a != nil {
		s = a.older
	}
	l.mu.Unlock()
	if s == nil {
		return false
	}
	l.told()
	for k, v := range s.header {
		w.Header()[k] = v
	}
	w.WriteHeader(s.status)
	_, _ = w.Write(s.body)
	return true
}

// remember keeps the newest two answers to each request.
func (l *liar) remember(rsp *http.Response) error {
	if l.kind != staleReads || rsp.Request.Method != http.MethodGet || rsp.StatusCode != http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(rsp.Body)
	if err != nil {
		return err
	}
	_ = rsp.Body.Close()
	rsp.Body = io.NopCloser(bytes.NewReader(body))
	index, _ := strconv.ParseUint(rsp.Header.Get(headIndex), 10, 64)
	now := &said{rsp.StatusCode, rsp.Header.Clone(), body, index}
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.seen[requestKey(rsp.Request)]
	if a == nil {
		a = &reads{}
		l.seen[requestKey(rsp.Request)] = a
	}
	switch {
	case a.newer == nil:
		a.newer = now
	case now.index > a.newer.index && !bytes.Equal(now.body, a.newer.body):
		a.older, a.newer = a.newer, now
	}
	return nil
}
