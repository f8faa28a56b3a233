package service

import (
	"context"
	"errors"
	"fmt"
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

// A request for a lease that is revoked while it waits is denied, unless it may have been granted.
func TestARevokedRequestForALease(t *testing.T) {
	const root, app = "00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"
	const policy = "00000000-0000-4000-8000-00000000000c"
	for name, c := range map[string]struct{ err, want error }{
		"it was not":      {fmt.Errorf("%w: nobody waits", ErrNotApplied), access.ErrUnknownToken},
		"it may":          {fmt.Errorf("%w: two of three did not answer", ErrUnknown), ErrUnknown},
		"nobody can tell": {errors.New("something else"), ErrUnknown},
	} {
		g := newGuard(t)
		g.apply(kv.Bootstrap(kv.Token{Accessor: root, Secret: kv.HashSecret("root")}, 0))
		g.apply(kv.PutPolicy(kv.Policy{ID: policy, Name: "app", Rules: `lease_prefix "" { policy = "write" }`}, true))
		g.apply(kv.PutToken(kv.Token{Accessor: app, Secret: kv.HashSecret("app"), Policies: []string{policy}}, true))
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
			g.apply(kv.DropToken(app))
		}()
		if _, err := r.Lease(t.Context(), LeaseCommand{Op: LeaseAcquire, Name: "l", Wait: time.Minute}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
