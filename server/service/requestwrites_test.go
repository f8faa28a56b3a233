package service

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tenure/kv"
	"tenure/server/access"
	"tenure/server/admission"
	"tenure/server/slow"
)

// outdated is a node whose log takes a while to say that a command was decided by permissions that have changed.
type outdated struct {
	Node
	g       *guard
	takes   time.Duration
	revokes bool // the client's token is gone by then
	asked   int
}

func (o *outdated) Serves() error { return nil }

func (o *outdated) Write(timeout time.Duration, _ kv.Command, _ *slow.Write) (kv.Result, error) {
	o.asked++
	time.Sleep(min(o.takes, timeout))
	if o.takes > timeout {
		return kv.Result{}, ErrUnknown
	}
	if o.revokes {
		o.g.apply(kv.DropToken(appAccessor))
		o.revokes = false
	}
	return kv.Result{Code: kv.CodeDecideAgain, Count: o.g.state.ACL().Revision() + 1}, nil
}

// What the decision about a write takes of its time limit, the node has not.
func TestADecisionTakesFromTheTimeOfItsWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(t)
		n := &outdated{g: g, takes: time.Hour}
		g.decider = access.New(access.Config{Now: time.Now, CatchUp: func(time.Duration) error {
			time.Sleep(900 * time.Millisecond)
			g.mayWrite(`key_prefix "" { policy = "write" }`) // only now this node knows the token
			return nil
		}})
		s, err := New(Config{Access: g.decider}, FrontOf(n), admission.NewMetrics())
		if err != nil {
			t.Fatal(err)
		}
		g.apply(kv.Command{Op: kv.OpSet, Key: "k"})
		var r Request
		s.Begin(&r, End{})
		r.Identify(Credentials{Secret: "app"}, nil, 2*time.Second)
		began := time.Now()
		_, err = r.Write(kv.Command{Op: kv.OpSet, Key: "k"}, false, nil)
		if took := time.Since(began); took > 2*time.Second || n.asked != 1 || !errors.Is(err, ErrUnknown) {
			t.Errorf("after %v, %d copies: %v", took, n.asked, err)
		}
	})
}

// A write that must be decided again ends by its time limit, also if its node cannot ask the master, and if it learns
// from the master, each time anew, that the client may not.
func TestDecidingAgainEndsInTime(t *testing.T) {
	for name, c := range map[string]struct {
		catchUp time.Duration
		revoked bool
	}{"no master answers": {catchUp: time.Hour}, "one answers late": {catchUp: 900 * time.Millisecond},
		"and the client may not": {catchUp: 900 * time.Millisecond, revoked: true}} {
		synctest.Test(t, func(t *testing.T) {
			g := newGuard(t)
			g.decider = access.New(access.Config{Now: time.Now, CatchUp: func(timeout time.Duration) error {
				time.Sleep(min(c.catchUp, timeout))
				if c.catchUp > timeout {
					return ErrNotApplied
				}
				return nil
			}})
			g.mayWrite(`key_prefix "" { policy = "write" }`)
			n := &outdated{g: g, takes: 600 * time.Millisecond, revokes: c.revoked}
			s, err := New(Config{Access: g.decider}, FrontOf(n), admission.NewMetrics())
			if err != nil {
				t.Fatal(err)
			}
			var r Request
			s.Begin(&r, End{})
			r.Identify(Credentials{Secret: "app"}, nil, 2*time.Second)
			began := time.Now()
			_, err = r.Write(kv.Command{Op: kv.OpSet, Key: "k"}, false, nil)
			if took := time.Since(began); took > 2*time.Second || !errors.Is(err, ErrNotApplied) && !IsDenied(err) && !errors.Is(err, ErrUnknown) {
				t.Errorf("%s: after %v, %d copies: %v", name, took, n.asked, err)
			}
			time.Sleep(time.Hour) // the last round ends
		})
	}
}
