package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tenure/jepsen/check"
	"tenure/jepsen/history"
)

// leaseServer is one node that owns its state alone: named leases, and keys with fences. What is broken makes it wrong.
type leaseServer struct {
	broken string

	mu       sync.Mutex
	calls    int
	revision uint64
	token    uint64
	leases   map[string]*servedLease
	keys     map[string]servedKey
	fences   map[string]uint64
}

type servedLease struct {
	acquisition string
	token       uint64
	until       time.Time
}

type servedKey struct {
	value string
	index uint64
}

func (s *leaseServer) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.calls%50 == 0 {
		panic(http.ErrAbortHandler) // no answer
	}
	if key, ok := strings.CutPrefix(r.URL.Path, "/v1/kv/"); ok {
		s.kv(rw, r, key, string(body))
		return
	}
	if r.URL.Path == "/v1/leases/renew" {
		var asks []leaseAsk
		if json.Unmarshal(body, &asks) != nil {
			http.Error(rw, "bad", http.StatusBadRequest)
			return
		}
		var out []leaseGrant
		for _, a := range asks {
			g, ok := s.renew(a.Name, a)
			if !ok {
				g = leaseGrant{Name: a.Name, Error: "gone", Lost: true}
			}
			out = append(out, g)
		}
		reply(rw, out)
		return
	}
	rest := strings.TrimPrefix(r.URL.Path, "/v1/lease/")
	slash := strings.LastIndexByte(rest, '/')
	var a leaseAsk
	if json.Unmarshal(body, &a) != nil {
		http.Error(rw, "bad", http.StatusBadRequest)
		return
	}
	s.lease(rw, rest[:slash], rest[slash+1:], a)
}

func reply(rw http.ResponseWriter, v any) { _ = json.NewEncoder(rw).Encode(v) }

func (s *leaseServer) lease(rw http.ResponseWriter, name, verb string, a leaseAsk) {
	l := s.leases[name]
	switch verb {
	case "acquire":
		if l != nil && l.acquisition != a.Acquisition && time.Now().Before(l.until) && s.broken != "two owners" {
			rw.WriteHeader(http.StatusConflict)
			reply(rw, map[string]string{"Owner": "somebody", "RetryAfter": "1s"})
			return
		}
		if l == nil || l.acquisition != a.Acquisition {
			if s.token++; s.broken == "token twice" && s.token%5 == 0 {
				s.token--
			}
			l = &servedLease{acquisition: a.Acquisition, token: s.token}
			s.leases[name] = l
		}
		reply(rw, s.grant(name, l, a))
	case "renew":
		if g, ok := s.renew(name, a); ok {
			reply(rw, g)
			return
		}
		http.Error(rw, "gone", http.StatusConflict)
	case "release":
		if l != nil && (l.acquisition == a.Grant || l.acquisition == a.Acquisition) {
			delete(s.leases, name)
		}
		fmt.Fprint(rw, "true")
	}
}

func (s *leaseServer) renew(name string, a leaseAsk) (leaseGrant, bool) {
	l := s.leases[name]
	if l == nil || l.acquisition != a.Grant || time.Now().After(l.until) || s.broken == "lost while held" && s.calls%10 == 0 {
		return leaseGrant{}, false
	}
	return s.grant(name, l, a), true
}

func (s *leaseServer) grant(name string, l *servedLease, a leaseAsk) leaseGrant {
	ttl, _ := time.ParseDuration(a.TTL)
	l.until = time.Now().Add(ttl)
	return leaseGrant{Name: name, Owner: a.Owner, Token: l.token, Grant: l.acquisition, TTL: ttl.String()}
}

func (s *leaseServer) kv(rw http.ResponseWriter, r *http.Request, key, body string) {
	if r.Method == http.MethodGet {
		k, ok := s.keys[key]
		if !ok {
			http.Error(rw, "", http.StatusNotFound)
			return
		}
		reply(rw, []wireEntry{{Key: key, Value: []byte(k.value), CreateIndex: k.index, ModifyIndex: k.index}})
		return
	}
	if fence := r.URL.Query().Get("fence"); fence != "" && s.broken != "interleaved" {
		colon := strings.LastIndexByte(fence, ':')
		token, _ := strconv.ParseUint(fence[colon+1:], 10, 64)
		if token < s.fences[fence[:colon]] {
			http.Error(rw, "fenced: a larger token was seen", http.StatusConflict)
			return
		}
		s.fences[fence[:colon]] = token
	}
	s.revision++
	s.keys[key] = servedKey{body, s.revision}
	rw.Header().Set(headRevision, fmt.Sprint(s.revision))
	fmt.Fprint(rw, "true")
}

// TestLeasesTellRightFromWrong drives the workload against right servers and wrong ones, all at a time: clients mostly sleep.
func TestLeasesTellRightFromWrong(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds of clients at work")
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, c := range []struct{ name, broken string }{
		{"lease", ""}, {"lease-10", ""}, {"lease-1000", ""},
		{"lease-10", "two owners"}, {"lease-10", "token twice"}, {"lease-10", "interleaved"}, {"lease-1000", "lost while held"},
	} {
		w, err := ByName(c.name)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { judged(t, w, c.broken, driven(t, w, c.broken)) })
	}
}

func driven(t *testing.T, w Workload, broken string) check.Result {
	s := httptest.NewServer(&leaseServer{broken: broken, leases: map[string]*servedLease{}, keys: map[string]servedKey{}, fences: map[string]uint64{}})
	defer s.Close()
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	cfg := Config{Endpoints: []string{s.URL}, Clients: 20, Timeout: 2 * time.Second, Seed: 1}
	rec := history.NewRecorder()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := w.Drive(ctx, cfg, rec); err != nil {
		t.Error(err)
	}
	if err := Final(context.Background(), cfg, rec); err != nil {
		t.Error(err)
	}
	return w.Check(rec.Ops())
}

func judged(t *testing.T, w Workload, broken string, r check.Result) {
	t.Logf("%s %s: %d checked, %d shown, %v", w.Name, broken, r.Checked, r.Shown, r.Counts)
	if broken != "" {
		if !slices.ContainsFunc(r.Problems, func(p check.Problem) bool { return p.Kind == broken }) {
			t.Errorf("%s: %s was not found, but %d other problems", w.Name, broken, len(r.Problems))
		}
		return
	}
	if len(r.Problems) > 0 {
		t.Errorf("%s: %+v", w.Name, r.Problems)
	}
	for _, l := range w.Least {
		if r.Counts[l.What] == 0 {
			t.Errorf("%s: no %s", w.Name, l.What)
		}
	}
	if w.Shows != "" && r.Shown == 0 {
		t.Errorf("%s: nothing was shown", w.Name)
	}
}
