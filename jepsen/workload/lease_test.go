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

	"tenure/api"
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
	rw.Header().Set("X-Tenure-Node", "1")
	if s.calls%50 == 0 {
		panic(http.ErrAbortHandler) // no answer
	}
	if key, ok := strings.CutPrefix(r.URL.Path, "/v1/kv/"); ok {
		s.kv(rw, r, key, string(body))
		return
	}
	if r.URL.Path == api.PathLeasesRenew {
		var asks []LeaseAsk
		if json.Unmarshal(body, &asks) != nil {
			http.Error(rw, "bad", http.StatusBadRequest)
			return
		}
		var out []LeaseGrant
		for _, a := range asks {
			g, ok := s.renew(a.Name, a)
			if !ok {
				g = LeaseGrant{Name: a.Name, Error: "gone", Lost: true}
			}
			out = append(out, g)
		}
		reply(rw, out)
		return
	}
	rest := strings.TrimPrefix(r.URL.Path, "/v1/lease/")
	slash := strings.LastIndexByte(rest, '/')
	var a LeaseAsk
	if json.Unmarshal(body, &a) != nil {
		http.Error(rw, "bad", http.StatusBadRequest)
		return
	}
	s.lease(rw, rest[:slash], rest[slash+1:], a)
}

func reply(rw http.ResponseWriter, v any) { _ = json.NewEncoder(rw).Encode(v) }

func (s *leaseServer) lease(rw http.ResponseWriter, name, verb string, a LeaseAsk) {
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
		rw.Header().Set(api.HeaderError, string(api.CodeLost))
		http.Error(rw, "gone", http.StatusConflict)
	case "release":
		if l != nil && (l.acquisition == a.Grant || l.acquisition == a.Acquisition) {
			delete(s.leases, name)
		}
		fmt.Fprint(rw, "true")
	}
}

func (s *leaseServer) renew(name string, a LeaseAsk) (LeaseGrant, bool) {
	l := s.leases[name]
	if l == nil || l.acquisition != a.Grant || time.Now().After(l.until) || s.broken == "lost while held" && s.calls%10 == 0 {
		return LeaseGrant{}, false
	}
	return s.grant(name, l, a), true
}

func (s *leaseServer) grant(name string, l *servedLease, a LeaseAsk) LeaseGrant {
	ttl, _ := time.ParseDuration(a.TTL)
	l.until = time.Now().Add(ttl)
	return LeaseGrant{Name: name, Owner: a.Owner, Token: l.token, Grant: l.acquisition, TTL: ttl.String()}
}

func (s *leaseServer) kv(rw http.ResponseWriter, r *http.Request, key, body string) {
	if r.Method == http.MethodGet {
		k, ok := s.keys[key]
		if !ok {
			rw.Header().Set(api.HeaderError, string(api.CodeNotFound))
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
			rw.Header().Set(api.HeaderError, string(api.CodeFenced))
			http.Error(rw, "a larger token was seen", http.StatusConflict)
			return
		}
		s.fences[fence[:colon]] = token
	}
	s.revision++
	s.keys[key] = servedKey{body, s.revision}
	rw.Header().Set(api.HeaderRevision, fmt.Sprint(s.revision))
	fmt.Fprint(rw, "true")
}

// TestLeasesTellRightFromWrong drives the workload against right servers and wrong ones, all at a time: clients mostly
// sleep.
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
		wg.Go(func() { told(t, w, c.broken) })
	}
}

// told drives the workload, again if need be, until it has done all that it must, or has shown what is broken.
func told(t *testing.T, w Workload, broken string) {
	counts, shown := map[string]int{}, 0
	missing := func() (what []string) {
		for _, l := range w.Least {
			if counts[l.What] == 0 {
				what = append(what, l.What)
			}
		}
		if w.Shows != "" && shown == 0 {
			what = append(what, w.Shows)
		}
		return what
	}
	for seed := range uint64(12) {
		r := driven(t, w, broken, seed)
		found := slices.ContainsFunc(r.Problems, func(p check.Problem) bool { return p.Kind == broken })
		for name, n := range r.Counts {
			counts[name] += n
		}
		shown += r.Shown
		if broken == "" && len(r.Problems) > 0 {
			t.Errorf("%s: %+v", w.Name, r.Problems)
		}
		if found || broken == "" && len(missing()) == 0 {
			return
		}
	}
	t.Errorf("%s, broken %q: not found; %d shown, %v, missing %v", w.Name, broken, shown, counts, missing())
}

func driven(t *testing.T, w Workload, broken string, seed uint64) check.Result {
	s := httptest.NewServer(&leaseServer{broken: broken, leases: map[string]*servedLease{}, keys: map[string]servedKey{}, fences: map[string]uint64{}})
	defer s.Close()
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	cfg := Config{Endpoints: []string{s.URL}, Clients: 20, Timeout: 2 * time.Second, Seed: seed}
	rec := history.NewRecorder()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if err := w.Drive(ctx, cfg, rec); err != nil {
		t.Error(err)
	}
	if err := Final(context.Background(), cfg, rec); err != nil {
		t.Error(err)
	}
	return w.Check(rec.Ops())
}
