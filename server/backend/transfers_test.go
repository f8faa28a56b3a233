package backend

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/server/runner"
	"tenure/server/web"
	"tenure/server/wire"
)

// sentBodies keeps what is sent on log connections.
type sentBodies struct{ log chan []byte }

func (sentBodies) SendLease(ballot.NodeID, []byte) bool { return false }
func (sentBodies) SendNamed(ballot.NodeID, []byte) bool { return false }
func (s sentBodies) SendLog(_ ballot.NodeID, body []byte) bool {
	s.log <- body
	return true
}

// During a hand-over the master refuses another one, from its own clients and from other nodes: the end of one would
// let the log lead while the other releases the lease.
func TestOneHandOverAtATime(t *testing.T) {
	sent := sentBodies{make(chan []byte, 8)}
	now := clock.New()
	m := runner.NewMastership()
	m.SetLease(1, now.Now()+time.Hour)
	m.SetReady(1, 1)
	transfers := NewTransfers(TransfersConfig{Self: 1, Clock: now, Mastership: m, Send: sent,
		Lifecycle: runner.NewLifecycle(func() {}), CanTake: func(ballot.NodeID) error { return errors.New("cannot take it") }})
	transfers.busy.Store(true)
	if err := transfers.Transfer(context.Background(), 3); !errors.Is(err, web.ErrNotApplied) || !strings.Contains(err.Error(), "under way") {
		t.Errorf("a client of the master is told %v", err)
	}
	transfers.Asked(2, wire.Transfer{ID: 40, To: 3})
	b, err := wire.DecodeLog(<-sent.log, 1, 2)
	if err != nil || b.Transferred == nil || b.Transferred.ID != 40 || !strings.Contains(b.Transferred.Problem, "under way") {
		t.Errorf("node 2 is told %+v, %v", b.Transferred, err)
	}
	if len(sent.log) != 0 || !transfers.busy.Load() {
		t.Errorf("%d more answers; busy: %v", len(sent.log), transfers.busy.Load())
	}
}
