package service

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/admission"
	"tenure/server/members"
)

// asked is a node that answers reads and writes, and may not serve.
type asked struct {
	Node    // none: whatever else is asked of it panics
	refuses error
	during  func() // what happens while it reads
}

func (a *asked) Serves() error      { return a.refuses }
func (a *asked) Status() api.Status { return api.Status{Node: 7} }
func (a *asked) Upgrade() api.Upgrade {
	return api.Upgrade{FeatureLevel: kv.NewestLevel}
}

func (a *asked) Get(time.Duration, Mode, string) (kv.Entry, bool, ReadMeta, error) {
	a.during()
	return kv.Entry{Value: []byte("secret")}, true, ReadMeta{}, nil
}

func (a *asked) GetMany(time.Duration, Mode, []string, func(int, kv.Entry) bool) (uint64, error) {
	a.during()
	return 1, nil
}

func (a *asked) CatchUp(time.Duration) (uint64, error) {
	a.during()
	return 1, nil
}

// everything returns what each operation of a Request comes to.
func everything(t *testing.T, f *Front) map[string]error {
	t.Helper()
	s, err := New(Config{}, f, admission.NewMetrics())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]error{}
	for name, do := range map[string]func(*Request) error{
		"write":       func(r *Request) error { _, err := r.Write(kv.Command{Op: kv.OpSet, Key: "k"}, false, nil); return err },
		"drawn":       func(r *Request) error { _, err := r.Write(kv.Command{Op: kv.OpSet, Key: "k"}, true, nil); return err },
		"many":        func(r *Request) error { _, err := r.GetMany(Stale, []string{"k"}, nil); return err },
		"none":        func(r *Request) error { _, err := r.GetMany(Stale, nil, nil); return err },
		"read point":  func(r *Request) error { _, err := r.ReadPoint(Default); return err },
		"lease":       func(r *Request) error { _, err := r.Lease(context.Background(), LeaseCommand{}); return err },
		"leases":      func(r *Request) error { _, _, err := r.ListLeases(context.Background(), LeaseQuery{}); return err },
		"renewals":    func(r *Request) error { _, err := r.RenewLeases(make([]LeaseCommand, 1), make([]error, 1)); return err },
		"one lease":   func(r *Request) error { _, _, err := r.ShowLease("l"); return err },
		"session":     func(r *Request) error { _, err := r.MayEndSession("s"); return err },
		"members":     func(r *Request) error { _, err := r.ListMembers(); return err },
		"change":      func(r *Request) error { _, err := r.ChangeMembers(members.Operation{}); return err },
		"plan":        func(r *Request) error { _, err := r.PlanChange(members.Operation{}); return err },
		"cancel":      func(r *Request) error { _, err := r.CancelChange("o"); return err },
		"drain":       func(r *Request) error { return r.DrainNode(1, false, false) },
		"transfer":    func(r *Request) error { return r.Transfer(1) },
		"upgrade":     func(r *Request) error { _, err := r.Upgrade(); return err },
		"raise":       func(r *Request) error { _, err := r.FinishUpgrade(false); return err },
		"raise later": func(r *Request) error { _, err := r.FinishUpgrade(true); return err },
		"backup":      func(r *Request) error { _, err := r.Backup(); return err },
		"known here":  func(r *Request) error { return r.KnownHere() },
		"write here":  func(r *Request) error { return r.MayWriteHere(&kv.Command{Op: kv.OpSet, Key: "k"}) },
		"again":       func(r *Request) error { return r.Again() },
		"restore": func(r *Request) error {
			install := kv.Command{Op: kv.OpInstall}
			if err := r.MayWrite(&install); err != nil {
				return err
			}
			_, err := r.Restore(strings.NewReader(""), install)
			return err
		},
		"get": func(r *Request) error {
			if err := r.NeedKey("k"); err != nil {
				return err
			}
			_, _, _, err := r.Get(Stale, "k")
			return err
		},
		"snapshot": func(r *Request) error {
			if err := r.NeedSomeKey(""); err != nil {
				return err
			}
			_, _, err := r.Snapshot(Stale)
			return err
		},
	} {
		var r Request
		s.Begin(&r, End{})
		r.Identify(Credentials{}, nil, time.Second)
		out[name] = do(&r)
	}
	_, out["catching up"] = s.CatchUp(time.Second)
	return out
}

// Before there is a node, while the node serves nobody, and once the Front is closed, every request is refused, and by
// the reason for that.
func TestWithoutANodeEverythingIsRefused(t *testing.T) {
	otherwise := errors.New("it looks whether it is missed")
	for name, f := range map[string]*Front{
		"it starts":        NewFront(api.Status{Problem: "it looks whether it is missed"}),
		"it serves nobody": FrontOf(&asked{refuses: NotApplied("", otherwise)}),
		"it was closed":    closed("it looks whether it is missed", &asked{}),
		"it came too late": closed("it looks whether it is missed", nil),
	} {
		if name == "it came too late" {
			f.Serve(&asked{})
		}
		for what, err := range everything(t, f) {
			if !errors.Is(err, ErrNotApplied) || !strings.Contains(err.Error(), "missed") {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
	}
}

func closed(why string, n Node) *Front {
	f := NewFront(api.Status{})
	if n != nil {
		f.Serve(n)
	}
	f.Close(why)
	return f
}

// A read that was under way when the Front was closed shows nothing that may be newer than the first token.
func TestWhatIsReadWhileTheFrontIsClosedIsRefused(t *testing.T) {
	for name, read := range map[string]func(*Request) error{
		"get": func(r *Request) error {
			if err := r.NeedKey("k"); err != nil {
				return nil
			}
			_, _, _, err := r.Get(Stale, "k")
			return err
		},
		"many":     func(r *Request) error { _, err := r.GetMany(Stale, []string{"k"}, nil); return err },
		"write":    func(r *Request) error { _, err := r.Write(kv.Command{Op: kv.OpSet, Key: "k"}, false, nil); return err },
		"transfer": func(r *Request) error { return r.Transfer(1) },
		"members":  func(r *Request) error { _, err := r.ChangeMembers(members.Operation{}); return err },
	} {
		n := &asked{}
		f := NewFront(api.Status{}) // it asks for no tokens, and makes sure before a write that there are none
		f.Serve(n)
		n.during = func() { f.Close("this cluster has tokens") }
		s, err := New(Config{}, f, admission.NewMetrics())
		if err != nil {
			t.Fatal(err)
		}
		var r Request
		s.Begin(&r, End{})
		r.Identify(Credentials{}, nil, time.Second)
		if err := read(&r); !errors.Is(err, ErrNotApplied) || !strings.Contains(err.Error(), "has tokens") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What the node says of itself it says before it serves, and not once it was closed.
func TestTheStatusBeforeTheNodeServes(t *testing.T) {
	f := NewFront(api.Status{Node: 3, Problem: "it opens its data directory"})
	f.SetProblem("it joins")
	if s := f.Status(); s.Node != 3 || s.Problem != "it joins" {
		t.Error(s)
	}
	if err := f.Ready(); err == nil || !strings.Contains(err.Error(), "it joins") {
		t.Error(err)
	}
	if f.ClusterID() != "" || f.Peers() != nil || f.Leader() != "" || f.Full() != "" || f.Drained() {
		t.Error("something is known of a node that is not there")
	}
	f.Serve(&asked{})
	if s := f.Status(); s.Node != 7 {
		t.Error(s)
	}
	f.Close("this cluster has tokens")
	if s := f.Status(); s.Node != 3 || s.Problem != "this cluster has tokens" {
		t.Error(s)
	}
}

// A node that serves nobody does not say either that a bootstrap was done.
func TestTheBootstrapOfANodeThatServesNobody(t *testing.T) {
	g := newGuard(t)
	g.mayWrite("")
	s, err := New(Config{Access: g.decider}, FrontOf(&asked{refuses: NotApplied("", ErrOtherCluster)}), admission.NewMetrics())
	if err != nil {
		t.Fatal(err)
	}
	var r Request
	s.Begin(&r, End{})
	r.Identify(Credentials{}, nil, time.Second)
	if _, made, err := r.MayBootstrap("root"); made != nil || !errors.Is(err, ErrOtherCluster) {
		t.Error(made, err)
	}
}
