package backend

import (
	"errors"
	"testing"

	"tenure/api"
	"tenure/server/runner"
	"tenure/server/web"
	"tenure/server/wire"
)

// A node that is stopping refuses a drain at once and for good, whether a client of its own asks or another node.
func TestDrainOfAStoppingNode(t *testing.T) {
	life := runner.NewLifecycle(func() {})
	sent := sentBodies{make(chan []byte, 8)}
	m := NewMembers(MembersConfig{Self: 2, Lifecycle: life, Send: sent, Drain: runner.NewDrain(runner.DrainConfig{})})
	life.Stop()
	const says = "node 2 is stopping, which is as good as drained"
	var refused *web.MemberError
	for _, force := range []bool{false, true} {
		if err := m.DrainNode(0, 2, false, force); !errors.As(err, &refused) || refused.Code != api.CodeMemberState ||
			refused.Text != says {
			t.Errorf("force %v: %v", force, err)
		}
	}
	m.Drain(1, wire.Drain{ID: 7})
	body, err := wire.DecodeLog(<-sent.log, 2, 1)
	if err != nil || body.Drained == nil || *body.Drained != (wire.Drained{ID: 7, Problem: says, Stops: true}) {
		t.Fatalf("%+v, %v", body.Drained, err)
	}
	if err := drainError(2, *body.Drained, answered); !errors.As(err, &refused) || refused.Code != api.CodeMemberState ||
		refused.Text != says {
		t.Errorf("the node that was asked says %v", err)
	}
	if m.cfg.Drain.State() != wire.DrainOff {
		t.Error("it has begun to drain")
	}
}
