package backend

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/server/replica"
	"tenure/server/replica/elector"
	"tenure/server/runner"
	"tenure/server/web"
	"tenure/server/wire"
)

// maxTransfers bounds the transfers that wait at one node.
const maxTransfers = 16

// TransfersConfig is what a Transfers is made of. All fields are required.
type TransfersConfig struct {
	Self       ballot.NodeID
	FirstID    uint64 // of the transfers that are passed on; another one in each run
	Clock      *clock.Clock
	Mastership *runner.Mastership
	Log        *runner.Log
	Handover   *runner.Handover
	Lifecycle  *runner.Lifecycle
	CanTake    func(to ballot.NodeID) error
	Send       runner.Sender
	Logger     zerolog.Logger
}

// Transfers hands mastership over when a user asks for it, here or at another node, before this node is drained or
// removed, and when its disk is short of space.
type Transfers struct {
	cfg    TransfersConfig
	busy   atomic.Bool                  // a hand-over is under way here
	passed *questions[wire.Transferred] // transfers for the master
}

var errBusy = fmt.Errorf("%w: another hand-over is under way; look who is master, then try again", web.ErrNotApplied)

// NewTransfers returns a Transfers.
func NewTransfers(c TransfersConfig) *Transfers {
	return &Transfers{cfg: c, passed: newQuestions[wire.Transferred](c.FirstID, maxTransfers)}
}

// Transfer asks the master to hand over, to node `to` if it is not 0. It waits for a master to be known.
func (t *Transfers) Transfer(timeout time.Duration, to ballot.NodeID) error {
	for end := time.Now().Add(timeout); ; {
		if t.cfg.Mastership.Serves(t.cfg.Clock.Now()) {
			if !t.busy.CompareAndSwap(false, true) {
				return errBusy
			}
			defer t.busy.Store(false)
			return t.transfer(to)
		}
		if master := t.cfg.Log.View().Master; master != 0 && master != t.cfg.Self {
			return t.passOn(time.Until(end), master, to)
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w: no master is known; try again", web.ErrNotApplied)
		}
		select {
		case <-t.cfg.Lifecycle.Ended():
			return fmt.Errorf("%w: this node is stopping; ask another", web.ErrNotApplied)
		case <-time.After(replica.TickEvery):
		}
	}
}

// passOn passes the transfer on to the master and waits for its answer.
func (t *Transfers) passOn(wait time.Duration, master, to ballot.NodeID) error {
	told, how := t.passed.ask(wait, t.cfg.Lifecycle.Ended(), func(id uint64) bool {
		return t.cfg.Send.SendLog(master, wire.EncodeTransfer(wire.Transfer{ID: id, To: uint64(to)}))
	})
	switch {
	case how == tooMany:
		return fmt.Errorf("%w: %d transfers are waiting already", web.ErrNotApplied, maxTransfers)
	case how == unsent:
		return fmt.Errorf("%w: the master, node %d, is not connected to this node; try again", web.ErrNotApplied, master)
	case how == unanswered:
		return fmt.Errorf("%w: the master did not answer in time", web.ErrUnknown)
	case told.Problem != "":
		return fmt.Errorf("%w: %s", web.ErrNotApplied, strings.TrimPrefix(told.Problem, web.ErrNotApplied.Error()+": "))
	}
	return nil
}

// Answered takes what became of a transfer that was passed on.
func (t *Transfers) Answered(a wire.Transferred) { t.passed.answer(a.ID, a) }

// Asked carries out a transfer that a follower has passed on. It runs apart from the connection's reader, which must
// not wait.
func (t *Transfers) Asked(from ballot.NodeID, a wire.Transfer) {
	if !t.busy.CompareAndSwap(false, true) {
		t.cfg.Send.SendLog(from, wire.EncodeTransferred(wire.Transferred{ID: a.ID, Problem: errBusy.Error()}))
		return
	}
	go func() {
		defer t.busy.Store(false)
		answer := wire.Transferred{ID: a.ID}
		if err := t.transfer(ballot.NodeID(a.To)); err != nil {
			answer.Problem = err.Error()
		}
		t.cfg.Send.SendLog(from, wire.EncodeTransferred(answer))
	}()
}

// Relieve hands over, until stop is closed, whenever the log says that another member should be master. It runs apart
// from the log, which a hand-over needs.
func (t *Transfers) Relieve(stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		case next := <-t.cfg.Log.Relief():
			t.relieve(next)
		}
	}
}

func (t *Transfers) relieve(r runner.Relief) {
	if !t.busy.CompareAndSwap(false, true) {
		return
	}
	defer t.busy.Store(false)
	if r.Why == elector.CauseNoSpace {
		t.cfg.Logger.Warn().Uint64("to", uint64(r.Next)).
			Msg("this master's disk is short of space: it hands over to a member that has some")
	} else {
		t.cfg.Logger.Info().Uint64("to", uint64(r.Next)).Msg("this master is to be removed: it hands over")
	}
	if err := t.handOver(r.Next, r.Why); err != nil {
		t.cfg.Logger.Warn().Err(err).Msg("could not hand over")
	}
}

// Drain hands over from this node, if it is the master, to whoever likes to.
func (t *Transfers) Drain() error {
	if !t.cfg.Mastership.Serves(t.cfg.Clock.Now()) {
		return nil
	}
	if !t.busy.CompareAndSwap(false, true) {
		return errBusy
	}
	defer t.busy.Store(false)
	return t.handOver(0, elector.CauseHandedOver)
}

// transfer hands over because a user asks for it, if there is somebody who can take over.
func (t *Transfers) transfer(to ballot.NodeID) error {
	if to == 0 && t.cfg.Mastership.Serves(t.cfg.Clock.Now()) {
		if err := t.cfg.CanTake(0); err != nil {
			return fmt.Errorf("%w: %w", web.ErrNotApplied, err)
		}
	}
	return t.handOver(to, elector.CauseHandedOver)
}

// handOver hands over from this node.
func (t *Transfers) handOver(to ballot.NodeID, why elector.Cause) error {
	if !t.cfg.Mastership.Serves(t.cfg.Clock.Now()) {
		return fmt.Errorf("%w: node %d is not the master", web.ErrNotApplied, t.cfg.Self)
	}
	if to == t.cfg.Self {
		return nil
	}
	if to != 0 {
		if err := t.cfg.CanTake(to); err != nil {
			return fmt.Errorf("%w: %w", web.ErrNotApplied, err)
		}
	}
	t.cfg.Handover.Give(to, why)
	return nil
}
