package backend

import (
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
	if err := transfers.Transfer(time.Second, 3); !errors.Is(err, web.ErrNotApplied) || !strings.Contains(err.Error(), "under way") {
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

// TestATransferThatIsPassedOn: the master's answer becomes the follower's, and silence is told as unknown.
func TestATransferThatIsPassedOn(t *testing.T) {
	sent := sentBodies{make(chan []byte, 8)}
	transfers := NewTransfers(TransfersConfig{Self: 1, Send: sent, Lifecycle: runner.NewLifecycle(func() {})})
	for _, x := range []struct {
		name, problem string
		answers       bool
		want          error
	}{{"done", "", true, nil}, {"refused", "no", true, web.ErrNotApplied}, {"silent", "", false, web.ErrUnknown}} {
		if x.answers {
			go func() {
				b, err := wire.DecodeLog(<-sent.log, 1, 2)
				if err != nil || b.Transfer == nil || b.Transfer.To != 3 {
					t.Errorf("node 2 is asked %+v, %v", b.Transfer, err)
					return
				}
				transfers.Answered(wire.Transferred{ID: b.Transfer.ID + 1, Problem: "of another one"})
				transfers.Answered(wire.Transferred{ID: b.Transfer.ID, Problem: x.problem})
			}()
		}
		wait := time.Minute
		if !x.answers {
			wait = 10 * time.Millisecond
		}
		if err := transfers.passOn(wait, 2, 3); !errors.Is(err, x.want) || x.want == nil && err != nil {
			t.Errorf("%s: %v", x.name, err)
		}
	}
}
