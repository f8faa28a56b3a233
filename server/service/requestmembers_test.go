package service

import (
	"errors"
	"testing"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/server/access"
	"tenure/server/admission"
)

// drained is a node that counts the ends of drains.
type drained struct {
	Node
	ended int
}

func (d *drained) Serves() error { return nil }

func (d *drained) CatchUp(time.Duration) (uint64, error) { return 0, ErrNotApplied }

func (d *drained) DrainNode(time.Duration, ballot.NodeID, bool, bool) error {
	d.ended++
	return nil
}

// A drain is ended without a master: it may be why there is none. It begins with one only.
func TestADrainIsEndedWithoutAMaster(t *testing.T) {
	for _, tokens := range []bool{true, false} {
		g, d := newGuard(t), &drained{}
		cfg := Config{}
		front := NewFront(api.Status{})
		front.Serve(d)
		if tokens {
			g.decider = access.New(access.Config{Now: time.Now, CatchUp: func(time.Duration) error { return ErrNotApplied }})
			g.mayWrite(`operator = "write"`)
			cfg.Access, front = g.decider, FrontOf(d)
		}
		s, err := New(cfg, front, admission.NewMetrics())
		if err != nil {
			t.Fatal(err)
		}
		var r Request
		s.Begin(&r, End{})
		r.Identify(Credentials{Secret: "app"}, nil, time.Second)
		if err := r.DrainNode(1, true, false); err != nil || d.ended != 1 {
			t.Errorf("tokens %t: %v", tokens, err)
		}
		r.Next()
		if err := r.DrainNode(1, false, false); !errors.Is(err, ErrNotApplied) && !errors.Is(err, ErrUnsure) || d.ended != 1 {
			t.Errorf("tokens %t: a drain began without a master: %v", tokens, err)
		}
	}
}
