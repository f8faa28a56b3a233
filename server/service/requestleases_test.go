package service

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"tenure/kv"
	"tenure/server/access"
	"tenure/server/admission"
)

// waiting is a node whose leases are busy until the request for one ends, which comes to err then.
type waiting struct {
	Node
	began chan struct{}
	err   error
}

func (w *waiting) Serves() error { return nil }

func (w *waiting) Lease(ctx context.Context, _ LeaseCommand) (LeaseGrant, error) {
	close(w.began)
	<-ctx.Done()
	return LeaseGrant{}, w.err
}

// guard is the tokens and policies of a state in memory.
type guard struct {
	t       *testing.T
	state   *kv.State
	decider *access.Decider
}

func newGuard(t *testing.T) *guard {
	state, err := kv.Open(kv.NewMemStateDB(), kv.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	g := &guard{t: t, state: state}
	g.decider = access.New(access.Config{CatchUp: func(time.Duration) error { return nil }, Now: time.Now})
	g.apply(kv.Command{Op: kv.OpLevel, Num: kv.NewestLevel})
	return g
}

func (g *guard) apply(c kv.Command) {
	g.t.Helper()
	r, err := g.state.Apply(g.state.Applied()+1, kv.AppendBatch(nil, kv.EncodeCommand(&c)))
	if err != nil || r[0].Code != kv.CodeDone {
		g.t.Fatal(r, err)
	}
	g.decider.Publish(g.state.ACL())
}

const appAccessor = "00000000-0000-4000-8000-00000000000b"

// mayWrite makes a token whose secret is "app", with these rules.
func (g *guard) mayWrite(rules string) {
	const root = "00000000-0000-4000-8000-00000000000a"
	const policy = "00000000-0000-4000-8000-00000000000c"
	g.apply(kv.Bootstrap(kv.Token{Accessor: root, Secret: kv.HashSecret("root")}, 0))
	g.apply(kv.PutPolicy(kv.Policy{ID: policy, Name: "app", Rules: rules}, true))
	g.apply(kv.PutToken(kv.Token{Accessor: appAccessor, Secret: kv.HashSecret("app"), Policies: []string{policy}}, true))
}

// A request for a lease that is revoked while it waits is denied, unless it may have been granted.
func TestARevokedRequestForALease(t *testing.T) {
	for name, c := range map[string]struct{ err, want error }{
		"it was not":      {fmt.Errorf("%w: nobody waits", ErrNotApplied), access.ErrUnknownToken},
		"it may":          {fmt.Errorf("%w: two of three did not answer", ErrUnknown), ErrUnknown},
		"nobody can tell": {errors.New("something else"), ErrUnknown},
	} {
		g := newGuard(t)
		g.mayWrite(`lease_prefix "" { policy = "write" }`)
		w := &waiting{began: make(chan struct{}), err: c.err}
		s, err := New(Config{Access: g.decider}, FrontOf(w), admission.NewMetrics())
		if err != nil {
			t.Fatal(err)
		}
		var r Request
		s.Begin(&r, End{})
		r.Identify(Credentials{Secret: "app"}, nil, time.Second)
		go func() {
			<-w.began
			g.apply(kv.DropToken(appAccessor))
		}()
		if _, err := r.Lease(t.Context(), LeaseCommand{Op: LeaseAcquire, Name: "l", Wait: time.Minute}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Leases work without a master: a renewal that this node would have to ask the master about holds up no others. One that
// has an error before is not tried.
func TestRenewalsNeedNoMaster(t *testing.T) {
	g := newGuard(t)
	g.decider = access.New(access.Config{Now: time.Now, CatchUp: func(time.Duration) error { return ErrNotApplied }})
	g.mayWrite(`lease_prefix "mine/" { policy = "write" }`)
	renewed := &granting{}
	s, err := New(Config{Access: g.decider}, FrontOf(renewed), admission.NewMetrics())
	if err != nil {
		t.Fatal(err)
	}
	var r Request
	s.Begin(&r, End{})
	r.Identify(Credentials{Secret: "app"}, nil, time.Second)
	r.Line = NewLine()
	errs := []error{nil, nil, Invalid("no name"), nil}
	grants, err := r.RenewLeases([]LeaseCommand{{Name: "mine/a"}, {Name: "theirs"}, {Name: "\x00"}, {Name: "mine/b"}}, errs)
	if err != nil || grants[0].Token != 1 || grants[3].Token != 1 || renewed.calls.Load() != 2 {
		t.Errorf("%v, %v, %d renewals", grants, err, renewed.calls.Load())
	}
	if errs[0] != nil || !errors.Is(errs[1], ErrUnsure) || IsDenied(errs[2]) || errs[3] != nil {
		t.Error(errs)
	}
}

// granting is a node that renews every lease.
type granting struct {
	Node
	calls atomic.Int64
}

func (*granting) Serves() error { return nil }

func (g *granting) Lease(context.Context, LeaseCommand) (LeaseGrant, error) {
	g.calls.Add(1)
	return LeaseGrant{Token: 1}, nil
}
