package access

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tenure/kv"
	"tenure/server/acl"
)

// world is a state of tokens and policies, and a node that decides by its published copy.
type world struct {
	t     *testing.T
	state *kv.State
	*Decider
	now     atomic.Int64 // Unix nanoseconds
	rounds  atomic.Int64 // how often the node has caught up
	lags    bool         // what is applied is published by a round only
	catchUp error
}

func newWorld(t *testing.T) *world {
	s, err := kv.Open(kv.NewMemStateDB(), kv.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, state: s}
	w.now.Store(1000)
	w.Decider = New(Config{
		CatchUp: func(time.Duration) error {
			w.rounds.Add(1)
			if w.catchUp == nil {
				w.Publish(w.state.ACL())
			}
			return w.catchUp
		},
		Now:       func() time.Time { return time.Unix(0, w.now.Load()) },
		ResetFile: filepath.Join(t.TempDir(), ResetFileName),
	})
	w.do(kv.Command{Op: kv.OpLevel, Num: kv.NewestLevel})
	return w
}

// do applies c, and publishes what comes of it unless the node lags.
func (w *world) do(c kv.Command) uint64 {
	w.t.Helper()
	r, err := w.state.Apply(w.state.Applied()+1, kv.AppendBatch(nil, kv.EncodeCommand(&c)))
	if err != nil || r[0].Code != kv.CodeDone {
		w.t.Fatalf("%+v %v", r, err)
	}
	if !w.lags {
		w.Publish(w.state.ACL())
	}
	return r[0].Revision
}

func id(n int) string { return fmt.Sprintf("%08d-0000-4000-8000-000000000000", n) }

func (w *world) policy(n int, rules string) {
	w.t.Helper()
	w.do(kv.PutPolicy(kv.Policy{ID: id(n), Name: fmt.Sprint("p", n), Rules: rules}, true))
}

func (w *world) token(n int, t kv.Token) {
	w.t.Helper()
	t.Accessor, t.Secret = id(n), kv.HashSecret(fmt.Sprint("s", n))
	w.do(kv.PutToken(t, true))
}

// may reports as text whether somebody may read the key a.
func (w *world) may(who Credentials) string {
	err := w.Begin(who).Need(acl.KeyRead("a"), time.Second)
	if err == nil {
		return "yes"
	}
	return err.Error()
}

func secret(s string) Credentials { return Credentials{Secret: s} }

func TestWhoMayDoWhat(t *testing.T) {
	w := newWorld(t)
	w.policy(1, `key "a" { policy = "read" }`)
	w.token(1, kv.Token{Policies: []string{id(1)}})
	w.token(2, kv.Token{})
	w.token(3, kv.Token{Policies: []string{kv.ManagementPolicy}})
	uri, err := url.Parse("tenure://c/client/x")
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{URIs: []*url.URL{uri}, Subject: pkix.Name{CommonName: "x"}, NotAfter: time.Unix(0, 2000)}
	named := kv.Token{Policies: []string{id(1)}, Certificate: "tenure://c/client/x"}
	w.token(4, named)
	for name, c := range map[string]struct {
		who  Credentials
		want string
	}{
		"allowed":         {secret("s1"), "yes"},
		"everything":      {secret("s3"), "yes"},
		"no policy":       {secret("s2"), "Permission denied: token with AccessorID '" + id(2) + "' lacks permission 'key:read' on \"a\""},
		"nobody":          {Credentials{}, "Permission denied: anonymous token lacks permission 'key:read' on \"a\""},
		"the anonymous":   {secret("anonymous"), "Permission denied: anonymous token lacks permission 'key:read' on \"a\""},
		"unknown":         {secret("s9"), ErrUnknownToken.Error()},
		"an accessor":     {secret(id(1)), ErrUnknownToken.Error()},
		"a certificate":   {Credentials{Certificate: cert}, "yes"},
		"a secret first":  {Credentials{Secret: "s2", Certificate: cert}, "Permission denied: token with AccessorID '" + id(2) + "'"},
		"unknown, though": {Credentials{Secret: "s9", Certificate: cert}, ErrUnknownToken.Error()},
		"another's": {Credentials{Certificate: &x509.Certificate{Subject: pkix.Name{CommonName: "x"},
			NotAfter: time.Unix(0, 2000)}}, "Permission denied: anonymous token"},
	} {
		if got := w.may(c.who); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	// A connection may outlive the certificate that it was opened with.
	if w.now.Store(2001); !strings.Contains(w.may(Credentials{Certificate: cert}), "anonymous token") {
		t.Error("an expired certificate stands for a token")
	}
}

// The names of a certificate are its URIs; only one that has none has its common name, and that is no URI.
func TestNamesOfACertificate(t *testing.T) {
	w := newWorld(t)
	w.policy(1, `key "a" { policy = "read" }`)
	w.token(1, kv.Token{Policies: []string{id(1)}, Certificate: "tenure://prod/client/deploy"})
	w.token(2, kv.Token{Policies: []string{id(1)}, Certificate: "deploy"})
	w.token(3, kv.Token{Policies: []string{id(1)}, Certificate: "spiffe://prod/deploy"})
	for name, c := range map[string]struct {
		cn   string
		uris []string
		want string
	}{
		"a client's, of kvctl ca":           {"deploy", []string{"tenure://prod/client/deploy"}, "yes"},
		"a node's of the same common name":  {"deploy", []string{"tenure://prod/node/deploy"}, "Permission denied"},
		"of another authority":              {"deploy", nil, "yes"},
		"a common name spelt as a URI":      {"tenure://prod/client/deploy", nil, "Permission denied"},
		"the same beside a URI":             {"tenure://prod/client/deploy", []string{"tenure://prod/client/x"}, "Permission denied"},
		"one of two URIs":                   {"", []string{"tenure://prod/node/n", "spiffe://prod/deploy"}, "yes"},
		"one of Tenure that is spelt oddly": {"deploy", []string{"tenure://prod/client/deploy?"}, "Permission denied"},
		"two of Tenure":                     {"", []string{"tenure://prod/client/x", "tenure://prod/client/deploy"}, "Permission denied"},
		"no name":                           {"", nil, "Permission denied"},
	} {
		cert := &x509.Certificate{Subject: pkix.Name{CommonName: c.cn}, NotAfter: time.Unix(0, 2000)}
		for _, text := range c.uris {
			u, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			cert.URIs = append(cert.URIs, u)
		}
		if got := w.may(Credentials{Certificate: cert}); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A token ends for everybody by the wall clock, before it is deleted and whether that ever happens.
func TestAnExpiredTokenIsRefusedByTheClock(t *testing.T) {
	w := newWorld(t)
	w.token(1, kv.Token{Policies: []string{kv.ManagementPolicy}, TTL: time.Second, Expires: 5000})
	r := w.Begin(secret("s1"))
	if err := r.Need(acl.KeyRead("a"), time.Second); err != nil {
		t.Fatal(err)
	}
	if at, ok := r.Expires(); !ok || at.UnixNano() != 5000 {
		t.Errorf("it expires at %v", at)
	}
	w.now.Store(4999)
	if err := r.Again(); err != nil {
		t.Error(err)
	}
	w.now.Store(5000)
	if err := r.Again(); !errors.Is(err, ErrUnknownToken) {
		t.Errorf("on an open stream: %v", err)
	}
	if got := w.may(secret("s1")); got != ErrUnknownToken.Error() {
		t.Error(got)
	}
}

// A lagging node does not refuse a request by its old state, and answers ErrUnsure when it cannot catch up.
func TestALaggingNodeAsksBeforeItRefuses(t *testing.T) {
	w := newWorld(t)
	w.lags = true
	w.token(1, kv.Token{Policies: []string{kv.ManagementPolicy}})
	if got := w.may(secret("s1")); got != "yes" || w.rounds.Load() != 1 {
		t.Errorf("%s after %d rounds", got, w.rounds.Load())
	}
	if got := w.may(secret("s1")); got != "yes" || w.rounds.Load() != 1 {
		t.Errorf("%s after %d rounds", got, w.rounds.Load())
	}
	w.catchUp = errors.New("no master")
	err := w.Begin(secret("s2")).Need(acl.KeyRead("a"), time.Second)
	if !errors.Is(err, ErrUnsure) || errors.Is(err, ErrUnknownToken) {
		t.Error(err)
	}
}

// NeedNow does not trust what this node knows.
func TestWhatDoesNotGoThroughTheLogIsAskedFirst(t *testing.T) {
	w := newWorld(t)
	w.token(1, kv.Token{Policies: []string{kv.ManagementPolicy}})
	w.lags = true
	w.do(kv.DropToken(id(1)))
	if err := w.Begin(secret("s1")).NeedNow(acl.OperatorWrite(), time.Second); !errors.Is(err, ErrUnknownToken) {
		t.Error(err)
	}
}

// All that was needed is decided again, with one state of tokens and policies.
func TestEverythingIsDecidedWithOneState(t *testing.T) {
	w := newWorld(t)
	w.policy(1, `key_prefix "" { policy = "write" }`)
	w.token(1, kv.Token{Policies: []string{id(1)}})
	r := w.Begin(secret("s1"))
	if err := r.Need(acl.KeyWrite("a"), time.Second); err != nil {
		t.Fatal(err)
	}
	at := r.Revision()
	w.do(kv.PutPolicy(kv.Policy{ID: id(1), Name: "p1", Rules: `key "b" { policy = "write" }`}, false))
	var denied *DeniedError
	if err := r.Need(acl.KeyWrite("b"), time.Second); !errors.As(err, &denied) || denied.Missing.Name != "a" {
		t.Errorf("what was allowed before is allowed still: %v", err)
	}
	if r.Revision() != at {
		t.Errorf("revision %d, was %d", r.Revision(), at)
	}
}

// After a command was refused as decided long ago, the node decides with what it was refused for.
func TestDecidedAgainAtARevision(t *testing.T) {
	w := newWorld(t)
	w.token(1, kv.Token{Policies: []string{kv.ManagementPolicy}})
	w.token(2, kv.Token{})
	r, other := w.Begin(secret("s1")), w.Begin(secret("s1"))
	for _, r := range []*Request{r, other} {
		if err := r.Need(acl.KeyWrite("a"), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	w.lags = true
	revision := w.do(kv.DropToken(id(2)))
	if err := r.AgainAt(revision, time.Second); err != nil || r.Revision() < revision || w.rounds.Load() != 1 {
		t.Errorf("%v at %d after %d rounds", err, r.Revision(), w.rounds.Load())
	}
	revision = w.do(kv.DropToken(id(1)))
	if err := other.AgainAt(revision, time.Second); !errors.Is(err, ErrUnknownToken) {
		t.Error(err)
	}
}

// However many are refused at a time, the master is asked by few rounds, and each began after those it serves asked.
func TestRoundsAreShared(t *testing.T) {
	var begun atomic.Int64
	r := rounds{catchUp: func(time.Duration) error {
		begun.Add(1)
		time.Sleep(5 * time.Millisecond)
		return nil
	}}
	began := time.Now()
	var all sync.WaitGroup
	for range 500 {
		all.Go(func() {
			before := begun.Load()
			if err := r.wait(10*time.Second, false); err != nil {
				t.Error(err)
			}
			if begun.Load() == before {
				t.Error("served by a round that began before")
			}
		})
	}
	all.Wait()
	if most := int64(time.Since(began)/roundEvery) + 2; begun.Load() > most {
		t.Errorf("%d rounds, at most %d are due", begun.Load(), most)
	}
}

// Who comes while a round is under way is served by the next one: the answer of this one may be from before.
func TestWhoComesLaterIsServedByALaterRound(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	r := rounds{catchUp: func(time.Duration) error {
		begun <- struct{}{}
		<-finish
		return nil
	}}
	first := r.join(false)
	<-begun
	late := r.join(false)
	finish <- struct{}{}
	<-first.done
	select {
	case <-late.done:
		t.Fatal("served by a round that began before")
	case <-begun:
	}
	finish <- struct{}{}
	<-late.done
}

// When nobody waits any more nothing is left running.
func TestRoundsEndWithTheLastRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rounds{catchUp: func(time.Duration) error { return nil }}
		began := time.Now()
		for range 2 {
			if err := r.wait(time.Second, false); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if r.runs {
				t.Error("a goroutine waits for its next round")
			}
		}
		if d := time.Since(began); d != roundEvery {
			t.Errorf("two rounds in %v", d)
		}
	})
}

func TestRoundsAreBounded(t *testing.T) {
	hold := make(chan struct{})
	r := rounds{catchUp: func(time.Duration) error { <-hold; return nil }}
	defer close(hold)
	if err := r.wait(time.Millisecond, false); !errors.Is(err, ErrUnsure) {
		t.Errorf("in a millisecond: %v", err)
	}
	for range maxSharing {
		r.join(false)
	}
	if err := r.wait(time.Second, false); !errors.Is(err, ErrUnsure) || !strings.Contains(err.Error(), "too many") {
		t.Error(err)
	}
}

// However many strangers are refused, a place is left for a request that this node's state allows.
func TestRoundsAreKeptForWhoIsKnown(t *testing.T) {
	w := newWorld(t)
	w.token(1, kv.Token{Policies: []string{kv.ManagementPolicy}})
	hold, began := make(chan struct{}), make(chan struct{}, 2)
	defer close(hold)
	w.Decider.rounds.catchUp = func(time.Duration) error { began <- struct{}{}; <-hold; return nil }
	w.Decider.rounds.join(false)
	<-began
	for range maxSharing { // of the next round
		w.Decider.rounds.join(false)
	}
	if err := w.Begin(secret("s9")).NeedNow(acl.OperatorWrite(), time.Minute); !errors.Is(err, ErrUnsure) {
		t.Errorf("one stranger more: %v", err)
	}
	if err := w.Begin(Credentials{}).Need(acl.KeyRead("a"), time.Minute); !errors.Is(err, ErrUnsure) {
		t.Errorf("nobody: %v", err)
	}
	err := w.Begin(secret("s1")).NeedNow(acl.OperatorWrite(), time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "in time") {
		t.Errorf("an operator does not wait for the round: %v", err)
	}
	for range keptSharing - 1 {
		w.Decider.rounds.join(true)
	}
	if w.Decider.rounds.join(true) != nil {
		t.Error("the places that are kept have no bound")
	}
}

func TestBeforeAnythingIsKnown(t *testing.T) {
	w := newWorld(t)
	w.Decider = New(Config{CatchUp: func(time.Duration) error { return errors.New("starting") }, Now: time.Now})
	if err := w.Begin(Credentials{}).Need(acl.KeyRead("a"), time.Second); !errors.Is(err, ErrUnsure) {
		t.Error(err)
	}
	if err := w.Begin(Credentials{}).Again(); !errors.Is(err, ErrUnsure) {
		t.Error(err)
	}
}

// Rules that cannot be read may deny something: they leave their token nothing.
func TestRulesThatCannotBeReadAllowNothing(t *testing.T) {
	w := newWorld(t)
	w.policy(1, "no rules at all {")
	w.token(1, kv.Token{Policies: []string{kv.ManagementPolicy, id(1)}})
	if got := w.may(secret("s1")); !strings.HasPrefix(got, "Permission denied") {
		t.Error(got)
	}
}

// The cache of subjects is bounded, and ends with its state of tokens and policies.
func TestSubjectsAreBounded(t *testing.T) {
	w := newWorld(t)
	w.policy(1, `key "a" { policy = "read" }`)
	for n := range 5 {
		w.token(n, kv.Token{Policies: []string{id(1)}})
		if got := w.may(secret(fmt.Sprint("s", n))); got != "yes" {
			t.Fatal(got)
		}
	}
	s := &w.news.Load().subjects
	if len(s.made) != 1 || len(s.policies) != 1 {
		t.Errorf("%d subjects and %d policies are kept", len(s.made), len(s.policies))
	}
	for range maxSubjects + 1 {
		s.of(w.ACL(), &kv.Token{Accessor: "x"})
	}
	if len(s.made) > maxSubjects {
		t.Errorf("%d subjects are kept", len(s.made))
	}
	w.do(kv.DropPolicy(id(1)))
	if n := len(w.news.Load().subjects.policies); n != 0 {
		t.Errorf("%d policies are kept", n)
	}
	if got := w.may(secret("s1")); got == "yes" {
		t.Error("a policy that was deleted still allows something")
	}
}

func TestNewsAreTold(t *testing.T) {
	w := newWorld(t)
	w.token(1, kv.Token{Policies: []string{kv.ManagementPolicy}})
	r := w.Begin(secret("s1"))
	if err := r.Need(acl.KeyRead("a"), time.Second); err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.News():
		t.Fatal("news before there are any")
	default:
	}
	w.token(2, kv.Token{})
	<-r.News()
	if err := r.Again(); err != nil {
		t.Fatal(err)
	}
	w.do(kv.DropToken(id(1)))
	<-r.News()
	if err := r.Again(); !errors.Is(err, ErrUnknownToken) {
		t.Error(err)
	}
	if got := w.Await(w.ACL().Revision(), time.Second); got != w.ACL() {
		t.Error("what is there is awaited")
	}
	if got := w.Await(1<<60, time.Millisecond); got != w.ACL() {
		t.Error("awaited for ever")
	}
}

// A client that asks again and again is decided about each time, with what it needs then and no more.
func TestTheNextRequestOfAClient(t *testing.T) {
	w := newWorld(t)
	w.policy(1, `key "a" { policy = "read" }`)
	w.token(1, kv.Token{Policies: []string{id(1)}})
	r := w.Begin(secret("s1"))
	if err := r.NeedHere(acl.KeyRead("b"), false); err == nil || w.rounds.Load() != 0 {
		t.Errorf("%v after %d rounds", err, w.rounds.Load())
	}
	r.Next()
	if err := r.NeedHere(acl.KeyRead("a"), false); err != nil || r.Needs() != 1 {
		t.Errorf("what was refused before counts still: %v, %d needs", err, r.Needs())
	}
	r.Next()
	w.do(kv.DropToken(id(1)))
	if err := r.Known(time.Second); !errors.Is(err, ErrUnknownToken) {
		t.Errorf("after the token was deleted: %v", err)
	}
}

// Of a certificate each need is decided, although its token is looked up each time.
func TestACertificateIsDecidedNeedByNeed(t *testing.T) {
	w := newWorld(t)
	w.policy(1, `key "a" { policy = "read" }`)
	w.token(1, kv.Token{Policies: []string{id(1)}, Certificate: "x"})
	r := w.Begin(Credentials{Certificate: &x509.Certificate{Subject: pkix.Name{CommonName: "x"}, NotAfter: time.Unix(0, 2000)}})
	for range 2 {
		if err := r.NeedHere(acl.KeyRead("a"), false); err != nil {
			t.Fatal(err)
		}
	}
	if at, ok := r.Expires(); !ok || at.UnixNano() != 2001 {
		t.Errorf("it expires at %v, %t", at, ok)
	}
	w.now.Store(2001)
	if r.Again() == nil {
		t.Error("what was needed before is not decided again once the certificate has expired")
	}
	if at, ok := r.Expires(); ok {
		t.Errorf("it expires once more at %v", at)
	}
}
