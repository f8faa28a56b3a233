package backend

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/server/replica/elector"
	"tenure/server/runner"
	"tenure/server/service"
	"tenure/server/wire"
)

// maxTransfers bounds the transfers that wait at one node, and those that one node works on for others.
const maxTransfers = 16

// TransfersConfig is what a Transfers is made of. All fields are required.
type TransfersConfig struct {
	Self       ballot.NodeID
	Questions  *Questions
	Clock      *clock.Clock
	Mastership *runner.Mastership
	Log        *runner.Log
	Handover   *runner.Handover
	CanTake    func(to ballot.NodeID) error
	Logger     zerolog.Logger
}

// Transfers hands mastership over when a user asks for it, here or at another node, before this node is drained or
// removed, and when its disk is short of space.
type Transfers struct {
	cfg  TransfersConfig
	asks *kind[wire.Transfer, struct{}] // the master
	busy atomic.Bool                    // a hand-over is under way here
}

var errBusy = fmt.Errorf("%w: another hand-over is under way; look who is master, then try again",
	service.ErrNotApplied)

// NewTransfers returns a Transfers.
func NewTransfers(c TransfersConfig) *Transfers {
	t := &Transfers{cfg: c}
	t.asks = newKind(c.Questions, wire.AskTransfer, maxTransfers, "look who is master", t.transfer)
	return t
}

// Transfer asks the master to hand over, to node `to` if it is not 0. It waits for a master to be known.
func (t *Transfers) Transfer(timeout time.Duration, to ballot.NodeID) error {
	_, err := t.asks.askMaster(timeout, wire.Transfer{To: to})
	return err
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

// transfer hands over because a user asks for it, if this node is the master and somebody can take over.
func (t *Transfers) transfer(_ time.Duration, q wire.Transfer) (none struct{}, err error) {
	if !t.cfg.Mastership.Serves(t.cfg.Clock.Now()) {
		return none, notMaster(0)
	}
	if !t.busy.CompareAndSwap(false, true) {
		return none, errBusy
	}
	defer t.busy.Store(false)
	if q.To == 0 {
		if err := t.cfg.CanTake(0); err != nil {
			return none, fmt.Errorf("%w: %w", service.ErrNotApplied, err)
		}
	}
	return none, t.handOver(q.To, elector.CauseHandedOver)
}

// handOver hands over from this node.
func (t *Transfers) handOver(to ballot.NodeID, why elector.Cause) error {
	if !t.cfg.Mastership.Serves(t.cfg.Clock.Now()) {
		return fmt.Errorf("%w: node %d is not the master", service.ErrNotApplied, t.cfg.Self)
	}
	if to == t.cfg.Self {
		return nil
	}
	if to != 0 {
		if err := t.cfg.CanTake(to); err != nil {
			return fmt.Errorf("%w: %w", service.ErrNotApplied, err)
		}
	}
	t.cfg.Handover.Give(to, why)
	return nil
}
