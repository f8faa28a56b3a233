package resp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/kv"
	"tenure/server/access"
	"tenure/server/audit"
	"tenure/server/service"
	"tenure/server/slow"
	"tenure/server/watch"
)

// guarded is a server that asks for tokens, with an audit log.
type guarded struct {
	*fake
	*Server
	t       testing.TB
	lags    atomic.Bool // tokens and policies are published by a round only
	cut     atomic.Bool // and there is no round
	rounds  atomic.Int64
	asked   atomic.Int64           // how often the store was reached
	onRead  atomic.Pointer[func()] // is called once something was read, once
	made    int
	publish func()
	audit   string // the file
}

// root is the secret of a token that may do everything.
const root = "root"

func newGuarded(t testing.TB, changes ...func(*Config)) *guarded {
	g := &guarded{fake: newFake(t), t: t, audit: filepath.Join(t.TempDir(), "audit")}
	d := access.New(access.Config{CatchUp: g.catchUp(), Now: time.Now})
	g.publish = func() { d.Publish(g.state.ACL()) }
	g.publish()
	log, err := audit.Open(audit.Config{Path: g.audit, FileBytes: 1 << 20}, 1, nil, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close(t.Context()) })
	cfg := Config{Config: service.Config{Access: d, Audit: log, Hub: watch.New(testHub)}}
	for _, change := range changes {
		change(&cfg)
	}
	g.state.Observe(kv.Observer{Changed: cfg.Hub.Changed, ACL: func(uint64) {
		if !g.lags.Load() {
			g.publish()
		}
	}})
	g.token(root, kv.Token{Policies: []string{kv.ManagementPolicy}})
	cfg.Hub.Begin(g.state.Revision())
	g.Server = start(t, g, cfg)
	return g
}

func (g *guarded) catchUp() func(time.Duration) error {
	return func(time.Duration) error {
		g.rounds.Add(1)
		if g.cut.Load() {
			return errors.New("no master is known")
		}
		g.fake.mu.Lock()
		defer g.fake.mu.Unlock()
		g.publish()
		return nil
	}
}

// token makes a token, by what is applied, and returns its accessor.
func (g *guarded) token(secret string, token kv.Token) (accessor string) {
	g.t.Helper()
	g.made++
	token.Accessor, token.Secret = fmt.Sprintf("%08d-0000-4000-8000-0000000000bb", g.made), kv.HashSecret(secret)
	g.apply(g.t, kv.PutToken(token, true))
	return token.Accessor
}

// policy makes a policy and returns its ID.
func (g *guarded) policy(rules string) (id string) {
	g.t.Helper()
	g.made++
	id = fmt.Sprintf("%08d-0000-4000-8000-0000000000aa", g.made)
	g.apply(g.t, kv.PutPolicy(kv.Policy{ID: id, Name: fmt.Sprint("p", g.made), Rules: rules}, true))
	return id
}

// may makes a token with rules.
func (g *guarded) may(secret, rules string) (accessor string) {
	g.t.Helper()
	return g.token(secret, kv.Token{Policies: []string{g.policy(rules)}})
}

// as is a client that has logged in; with no secret it has not.
func (g *guarded) as(secret string) *session {
	g.t.Helper()
	s := dial(g.t, g.Server)
	if secret != "" {
		s.want("AUTH "+secret, "OK")
	}
	return s
}

// set writes keys and their values without asking.
func (g *guarded) set(pairs ...string) {
	g.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		g.apply(g.t, kv.Command{Op: kv.OpSet, Key: pairs[i], Value: []byte(pairs[i+1])})
	}
}

// value returns what a key holds, "-" if it is not there.
func (g *guarded) value(key string) string {
	g.fake.mu.Lock()
	defer g.fake.mu.Unlock()
	e, found, err := g.state.Get(key)
	if err != nil {
		g.t.Fatal(err)
	}
	if !found {
		return "-"
	}
	return string(e.Value)
}

func (g *guarded) Write(timeout time.Duration, c kv.Command, took *slow.Write) (kv.Result, error) {
	g.asked.Add(1)
	return g.fake.Write(timeout, c, took)
}

func (g *guarded) GetMany(timeout time.Duration, mode service.Mode, keys []string, each func(int, kv.Entry) bool) (uint64, error) {
	g.asked.Add(1)
	revision, err := g.fake.GetMany(timeout, mode, keys, each)
	g.hasRead()
	return revision, err
}

func (g *guarded) Snapshot(timeout time.Duration, mode service.Mode) (*kv.Snapshot, service.ReadMeta, error) {
	g.asked.Add(1)
	s, m, err := g.fake.Snapshot(timeout, mode)
	g.hasRead()
	return s, m, err
}

func (g *guarded) hasRead() {
	if f := g.onRead.Swap(nil); f != nil {
		(*f)()
	}
}

// lines returns the audit log once it has so many lines.
func (g *guarded) lines(n int) []string {
	g.t.Helper()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(g.audit)
		if err != nil {
			g.t.Fatal(err)
		}
		list := strings.SplitAfter(string(text), "\n")
		if list = list[:len(list)-1]; len(list) >= n {
			return list
		}
		if time.Now().After(end) {
			g.t.Fatalf("the audit log has %d lines, want %d:\n%s", len(list), n, text)
		}
	}
}

// wantPrefix sends commands and checks how the last reply begins.
func (s *session) wantPrefix(reply string, commands ...string) {
	s.t.Helper()
	s.send(commands...)
	got := ""
	for range commands {
		got = s.reply()
	}
	if !strings.HasPrefix(got, reply) {
		s.t.Errorf("%q: %s, want %s", commands, got, reply)
	}
}

// ends checks that the server has closed the connection.
func (s *session) ends() {
	s.t.Helper()
	if text, err := s.in.ReadString('\n'); err == nil {
		s.t.Errorf("the connection goes on with %q", text)
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		s.t.Fatal("the connection stays open")
	}
}
