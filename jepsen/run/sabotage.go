package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// oneIn is how many writes, or reads, there are to one that is falsified.
const oneIn = 1000

const (
	lostWrites = "lost-writes"
	staleReads = "stale-reads"
	headIndex  = "X-Consul-Index"
)

// liar stands before every node and makes the cluster lie: some acknowledged writes never happen, or some reads show
// what was there before. A run against it must fail; that is what it is for.
type liar struct {
	kind    string
	servers []*http.Server
	turns   atomic.Int64 // operations of the kind, so far
	due     atomic.Int64 // lies not told yet for want of an occasion
	lies    atomic.Int64
	serial  atomic.Int64

	mu   sync.Mutex
	seen map[string]*reads
}

// reads are the newest two different answers to one question.
type reads struct{ older, newer *said }

type said struct {
	status int
	header http.Header
	body   []byte
	index  uint64
}

// sabotage puts a liar of this kind before the endpoints and returns what clients are to use instead. Without a kind
// the endpoints stay as they are.
func sabotage(kind string, endpoints []string) ([]string, *liar, error) {
	l := &liar{kind: kind, seen: map[string]*reads{}}
	if kind == "" {
		return endpoints, l, nil
	}
	if kind != lostWrites && kind != staleReads {
		return nil, nil, fmt.Errorf("no sabotage is named %q; there are %s and %s", kind, lostWrites, staleReads)
	}
	var out []string
	for _, e := range endpoints {
		at, err := l.serve(e)
		if err != nil {
			l.close()
			return nil, nil, err
		}
		out = append(out, at)
	}
	return out, l, nil
}

func (l *liar) count() int { return int(l.lies.Load()) }

func (l *liar) close() {
	for _, s := range l.servers {
		_ = s.Close()
	}
}

func (l *liar) serve(endpoint string) (string, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return "", err
	}
	in, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	quiet := log.New(io.Discard, "", 0)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorLog = quiet
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) {
		panic(http.ErrAbortHandler) // it has no verdict of its own: a dead node is a broken connection
	}
	proxy.ModifyResponse = l.remember
	s := &http.Server{ErrorLog: quiet, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case l.kind == lostWrites && r.Method == http.MethodPut && l.lose(r, endpoint):
		case l.kind == staleReads && r.Method == http.MethodGet && l.stale(w, r):
			return
		}
		proxy.ServeHTTP(w, r)
	})}
	l.servers = append(l.servers, s)
	go func() { _ = s.Serve(in) }() // ends with close
	return "http://" + in.Addr().String(), nil
}

// turn tells whether it is time for a lie; one for which there is no occasion stays due.
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

// lose turns a put that would be done into one of a key that nobody looks at: its client gets a true answer, with a
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

// modifyIndex is what a cas of the key must name now to be done; "" if that is not known.
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

func question(r *http.Request) string {
	q := r.URL.Query()
	q.Del("consistent")
	return r.URL.Path + "?" + q.Encode()
}

// stale answers with what an earlier answer to the same question showed, after a newer one has been given.
func (l *liar) stale(w http.ResponseWriter, r *http.Request) bool {
	if !strings.HasPrefix(r.URL.Path, "/v1/kv/") || !l.turn() {
		return false
	}
	l.mu.Lock()
	var s *said
	if a := l.seen[question(r)]; a != nil {
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

// remember keeps the newest two answers to each question.
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
	a := l.seen[question(rsp.Request)]
	if a == nil {
		a = &reads{}
		l.seen[question(rsp.Request)] = a
	}
	switch {
	case a.newer == nil:
		a.newer = now
	case now.index > a.newer.index && !bytes.Equal(now.body, a.newer.body):
		a.older, a.newer = a.newer, now
	}
	return nil
}
