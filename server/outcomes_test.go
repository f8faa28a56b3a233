package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/api"
	"tenure/kv"
	"tenure/server/access"
	"tenure/server/audit"
	"tenure/server/resp"
	"tenure/server/service"
	"tenure/server/slow"
	"tenure/server/web"
)

// copyOf is what a log says to one copy of a write: an error, a code, or kv.CodeDone, when it applies the copy.
type copyOf struct {
	err  error
	code kv.Code
}

// scripted is a node whose log says to each copy of a write what a test wants.
type scripted struct {
	service.Node
	decider *access.Decider

	mu     sync.Mutex
	state  *kv.State
	slot   uint64
	copies []copyOf // the last one is repeated
	revoke bool     // permission is taken away before a copy is answered
}

const scriptedPolicy = "00000000-0000-4000-8000-00000000000c"

func newScripted(t *testing.T) *scripted {
	t.Helper()
	st, err := kv.Open(kv.NewMemStateDB(), kv.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	s := &scripted{state: st}
	s.decider = access.New(access.Config{CatchUp: func(time.Duration) error { return nil }, Now: time.Now})
	for _, c := range []kv.Command{
		{Op: kv.OpLevel, Num: kv.NewestLevel},
		kv.Bootstrap(kv.Token{Accessor: "00000000-0000-4000-8000-00000000000a", Secret: kv.HashSecret("root")}, 0),
		s.policy(`key_prefix "" { policy = "write" }`),
		kv.PutToken(kv.Token{Accessor: "00000000-0000-4000-8000-00000000000b", Secret: kv.HashSecret("app"),
			Policies: []string{scriptedPolicy}}, true),
	} {
		if res, err := s.apply(c); err != nil || res.Code != kv.CodeDone {
			t.Fatal(res, err)
		}
	}
	return s
}

func (s *scripted) policy(rules string) kv.Command {
	_, there := s.state.ACL().Policy(scriptedPolicy)
	return kv.PutPolicy(kv.Policy{ID: scriptedPolicy, Name: "app", Rules: rules}, !there)
}

func (s *scripted) apply(c kv.Command) (kv.Result, error) {
	s.slot++
	res, err := s.state.Apply(s.slot, kv.AppendBatch(nil, kv.EncodeCommand(&c)))
	s.decider.Publish(s.state.ACL())
	if err != nil {
		return kv.Result{}, err
	}
	return res[0], nil
}

func (s *scripted) Serves() error  { return nil }
func (s *scripted) Drained() bool  { return false }
func (s *scripted) Master() uint64 { return 0 }

func (s *scripted) Write(_ time.Duration, c kv.Command, _ *slow.Write) (kv.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revoke {
		if _, err := s.apply(s.policy(`key_prefix "" { policy = "read" }`)); err != nil {
			return kv.Result{}, err
		}
	}
	now := s.copies[0]
	if len(s.copies) > 1 {
		s.copies = s.copies[1:]
	}
	if now.err != nil || now.code != kv.CodeDone {
		return kv.Result{Code: now.code, Count: s.state.Revision()}, now.err
	}
	return s.apply(c)
}

func (s *scripted) WriteDrawn(d time.Duration, c kv.Command, took *slow.Write) (kv.Result, error) {
	return s.Write(d, c, took)
}

func (s *scripted) Status() api.Status { return api.Status{Node: 1, Revision: s.state.Revision()} }

// told is a case: what a log says to the copies of one write, and what the client and the audit log are told of it.
type told struct {
	name   string
	copies []copyOf
	revoke bool
	status int
	code   api.Code
	reply  string // how that of Redis begins
}

func toldCases() []told {
	again, doubt, done := copyOf{code: kv.CodeDecideAgain}, copyOf{code: kv.CodeDecideInDoubt}, copyOf{code: kv.CodeDone}
	failed := func(err error) copyOf { return copyOf{err: fmt.Errorf("%w: two of three did not answer", err)} }
	one := func(c copyOf) []copyOf { return []copyOf{c} }
	return []told{
		{name: "applied", copies: one(done), status: 200, reply: "+OK"},
		{name: "no master", copies: one(failed(service.ErrNotApplied)), status: 503, code: api.CodeNotApplied,
			reply: "-CLUSTERDOWN "},
		{name: "not caught up", copies: one(failed(service.ErrNotCaughtUp)), status: 503, code: api.CodeNotReady,
			reply: "-CLUSTERDOWN "},
		{name: "beside another cluster", copies: one(failed(service.ErrOtherCluster)), status: 503,
			code: api.CodeOtherCluster, reply: "-CLUSTERDOWN "},
		{name: "too much waits", copies: one(failed(service.ErrOverloaded)), status: 503, code: api.CodeOverloaded,
			reply: "-TRYAGAIN "},
		{name: "no space", copies: one(failed(service.ErrNoSpace)), status: 507, code: api.CodeNoSpace, reply: "-OOM "},
		{name: "unknown", copies: one(failed(service.ErrUnknown)), status: 504, code: api.CodeUnknown, reply: "-UNKNOWN "},
		{name: "an error that says nothing", copies: one(failed(errors.New("a pipe broke"))), status: 504,
			code: api.CodeUnknown, reply: "-UNKNOWN "},
		{name: "not applied, and what that was is unknown", copies: one(failed(fmt.Errorf("%w: %w", service.ErrNotApplied,
			service.ErrUnknown))), status: 504, code: api.CodeUnknown, reply: "-UNKNOWN "},

		{name: "decided long ago", copies: []copyOf{again, done}, status: 200, reply: "+OK"},
		{name: "revoked meanwhile", copies: one(again), revoke: true, status: 403, code: api.CodeDenied, reply: "-NOPERM "},
		{name: "permissions change all the time", copies: one(again), status: 503, code: api.CodeNotApplied,
			reply: "-CLUSTERDOWN "},
		{name: "an earlier copy, and this one", copies: []copyOf{doubt, done}, status: 200, reply: "+OK"},
		{name: "an earlier copy, and revoked", copies: one(doubt), revoke: true, status: 504, code: api.CodeUnknown,
			reply: "-UNKNOWN "},
		{name: "an earlier copy, and no master", copies: []copyOf{doubt, failed(service.ErrNotApplied)}, status: 504,
			code: api.CodeUnknown, reply: "-UNKNOWN "},
		{name: "an earlier copy, then again, and revoked", copies: []copyOf{doubt, again}, revoke: true, status: 504,
			code: api.CodeUnknown, reply: "-UNKNOWN "},
		{name: "an earlier copy, and no space", copies: []copyOf{doubt, failed(service.ErrNoSpace)}, status: 504,
			code: api.CodeUnknown, reply: "-UNKNOWN "},
	}
}

// Whatever the log says to the copies of a write, both protocols tell the same of it, each in its words, and so does
// the audit log (S3).
func TestBothProtocolsTellTheSameOutcome(t *testing.T) {
	for _, c := range toldCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for protocol, ask := range map[string]func(*testing.T, service.Config, *scripted) (string, api.Code){
				"HTTP": c.overHTTP, "Redis": c.overRedis,
			} {
				s := newScripted(t)
				s.copies, s.revoke = slices.Clone(c.copies), c.revoke
				var lines bytes.Buffer
				log, err := audit.Open(audit.Config{Path: audit.Stdout, DeniedEach: 1 << 20}, 1, &lines, zerolog.Nop())
				if err != nil {
					t.Fatal(err)
				}
				cfg := service.Config{Logger: zerolog.Nop(), Access: s.decider, Audit: log, ClientTimeout: 300 * time.Millisecond}
				got, code := ask(t, cfg, s)
				if got != "" || code != c.code {
					t.Errorf("%s: %s, code %q, want %d %q, %q", protocol, got, code, c.status, c.code, c.reply)
				}
				if err := log.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				var r audit.Record
				if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
					t.Fatalf("%s: %v: %s", protocol, err, lines.String())
				}
				if want := service.OutcomeOf(c.code); r.Code != string(c.code) || r.Outcome != want || !slices.Equal(r.Keys, []string{"k"}) ||
					(r.Revision != 0) != (c.code == "") || (r.Missing != "") != (want == audit.Denied) {
					t.Errorf("%s: the audit log has %+v, want %s, code %q", protocol, r, want, c.code)
				}
			}
		})
	}
}

// overHTTP returns what is wrong with the answer, and its code.
func (c *told) overHTTP(t *testing.T, cfg service.Config, s *scripted) (wrong string, code api.Code) {
	h, err := web.New(web.Config{Config: cfg, Addr: "127.0.0.1:0", Node: 1, AllowedHosts: []string{"example.com"}}, service.FrontOf(s))
	if err != nil {
		t.Fatal(err)
	}
	r, w := httptest.NewRequest("PUT", api.PathKV+"k", strings.NewReader("v")), httptest.NewRecorder()
	r.Header.Set(api.HeaderToken, "app")
	h.ServeHTTP(w, r)
	if w.Code != c.status {
		wrong = fmt.Sprint(w.Code, " ", w.Body)
	}
	return wrong, api.Code(w.Header().Get(api.HeaderError))
}

// overRedis returns what is wrong with the reply. The protocol has no codes, so the code is that of the case.
func (c *told) overRedis(t *testing.T, cfg service.Config, s *scripted) (wrong string, code api.Code) {
	server, err := resp.New(resp.Config{Config: cfg, Addr: "127.0.0.1:0"}, service.FrontOf(s))
	if err == nil {
		err = server.Listen()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	defer func() { _ = server.Shutdown(context.Background()) }()
	client := dialRedisAt(t, server.Addr())
	defer client.Close()
	if got := client.do("AUTH app"); got != "+OK" {
		t.Fatal(got)
	}
	if got := client.do("SET k v"); !strings.HasPrefix(got, c.reply) {
		wrong = got
	}
	return wrong, c.code
}
