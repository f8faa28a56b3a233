package backend

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/server/replica/elector"
	"tenure/server/runner"
	"tenure/server/service"
	"tenure/server/wire"
)

// During a hand-over the master refuses another one, from its own clients and from other nodes: the end of one would
// let the log lead while the other releases the lease.
func TestOneHandOverAtATime(t *testing.T) {
	sent := make(chan []byte, 8)
	now := clock.New()
	m := runner.NewMastership()
	m.SetLease(elector.State{Tenure: 1, Deadline: now.Now() + time.Hour})
	m.SetReady(1, 1)
	asks := questionsOf(func(_ ballot.NodeID, body []byte) bool { sent <- body; return true })
	transfers := NewTransfers(TransfersConfig{Self: 1, Clock: now, Mastership: m, Questions: asks,
		CanTake: func(ballot.NodeID) error { return errors.New("cannot take it") }})
	transfers.busy.Store(true)
	if err := transfers.Transfer(time.Second, 3); !errors.Is(err, service.ErrNotApplied) || !strings.Contains(err.Error(), "under way") {
		t.Errorf("a client of the master is told %v", err)
	}
	asks.Asked(2, wire.Question{ID: 40, Kind: wire.AskTransfer, Body: wire.EncodeBody(&wire.Transfer{To: 3})})
	b, err := wire.DecodeLog(<-sent, 1, 2)
	if err != nil || b.Answer == nil || b.Answer.ID != 40 || b.Answer.Outcome != wire.Refused ||
		!strings.Contains(b.Answer.Text, "under way") {
		t.Errorf("node 2 is told %+v, %v", b.Answer, err)
	}
	if len(sent) != 0 || !transfers.busy.Load() {
		t.Errorf("%d more answers; busy: %v", len(sent), transfers.busy.Load())
	}
}

// TestATransferThatIsPassedOn: the master's answer becomes the follower's, and silence is told as unknown.
func TestATransferThatIsPassedOn(t *testing.T) {
	sent := make(chan []byte, 8)
	asks := questionsOf(func(_ ballot.NodeID, body []byte) bool { sent <- body; return true })
	asks.cfg.Master = func() ballot.NodeID { return 2 }
	transfers := NewTransfers(TransfersConfig{Self: 1, Questions: asks})
	for _, x := range []struct {
		name    string
		answer  wire.Answer
		answers bool
		want    error
	}{
		{"done", wire.Answer{Outcome: wire.Done, Body: wire.EncodeBody(&struct{}{})}, true, nil},
		{"refused", wire.Answer{Outcome: wire.Refused, Text: "no"}, true, service.ErrNotApplied},
		{"silent", wire.Answer{}, false, service.ErrUnknown},
	} {
		if x.answers {
			go func() {
				b, err := wire.DecodeLog(<-sent, 1, 2)
				var to wire.Transfer
				if err != nil || b.Question == nil || wire.DecodeBody(b.Question.Body, &to) != nil || to.To != 3 {
					t.Errorf("node 2 is asked %+v, %v", b.Question, err)
					return
				}
				asks.Answered(2, wire.Answer{ID: b.Question.ID + 1, Outcome: wire.Refused, Text: "of another one"})
				x.answer.ID = b.Question.ID
				asks.Answered(2, x.answer)
			}()
		}
		wait := time.Minute
		if !x.answers {
			wait = 10 * time.Millisecond
		}
		if err := transfers.Transfer(wait, 3); !errors.Is(err, x.want) || x.want == nil && err != nil {
			t.Errorf("%s: %v", x.name, err)
		}
	}
}
