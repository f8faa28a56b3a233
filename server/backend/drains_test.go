package backend

import (
	"errors"
	"testing"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/server/runner"
	"tenure/server/service"
	"tenure/server/wire"
)

// A node that is stopping refuses a drain at once and for good, whether a client of its own asks or another node.
func TestDrainOfAStoppingNode(t *testing.T) {
	life := runner.NewLifecycle(func() {})
	sent := make(chan []byte, 8)
	asks := questionsOf(func(_ ballot.NodeID, body []byte) bool { sent <- body; return true })
	asks.cfg.Self = 2
	m := NewMembers(MembersConfig{Self: 2, Lifecycle: life, Questions: asks, Drain: runner.NewDrain(runner.DrainConfig{})})
	life.Stop()
	const says = "node 2 is stopping, which is as good as drained"
	var refused *service.Error
	for _, force := range []bool{false, true} {
		if err := m.DrainNode(0, 2, false, force); !errors.As(err, &refused) || refused.Code != api.CodeMemberState ||
			refused.Text != says {
			t.Errorf("force %v: %v", force, err)
		}
	}
	asks.Asked(1, wire.Question{ID: 7, Kind: wire.AskDrain, Body: wire.EncodeBody(&wire.Drain{})})
	body, err := wire.DecodeLog(<-sent, 2, 1)
	if err != nil || body.Answer == nil || body.Answer.ID != 7 {
		t.Fatalf("%+v, %v", body.Answer, err)
	}
	if _, err := outcome(2, body.Answer); !errors.As(err, &refused) || refused.Code != api.CodeMemberState ||
		refused.Text != says {
		t.Errorf("the node that was asked says %v", err)
	}
	if m.cfg.Drain.State() != wire.DrainOff {
		t.Error("it has begun to drain")
	}
}
