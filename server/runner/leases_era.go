package runner

import (
	"fmt"
	"time"

	"tenure/kv"
	"tenure/server/replica"
	"tenure/server/replica/leases"
)

// How long the log is waited for, and when it is asked again.
const (
	eraTimeout = 5 * time.Second
	eraRetry   = 100 * time.Millisecond
)

// askEra has the log allot an era of fencing tokens to this run, however long that takes. The entry carries this run's
// incarnation and nonce in its key, and what is taken is the result of that very entry.
func (l *Leases) askEra() {
	c := kv.Command{Op: kv.OpNewEra, IdemKey: l.eraKey(), Base: l.cfg.State.Revision()}
	for {
		r, err := l.cfg.Log.Write(eraTimeout, c, nil)
		switch done := err == nil && r.Outcome == replica.Done; {
		case done && r.Result.Code == kv.CodeDone:
			l.cfg.Logger.Info().Uint64("era", r.Result.Count).Msg("an era of fencing tokens was allotted to this run")
			l.inbox.put(leasesEvent{Event: leases.Event{Era: uint32(r.Result.Count)}})
			return
		case done && r.Result.Code == kv.CodeKeyTooOld: // this node has not caught up with a cluster that was made anew
			c.IdemKey, c.Base = l.eraKey(), l.cfg.State.Revision()
		case done:
			l.cfg.Logger.Error().Uint8("code", uint8(r.Result.Code)).
				Msg("no era was allotted: this node does not vote about named leases; it asks again")
			c.IdemKey, c.Base = l.eraKey(), l.cfg.State.Revision()
		}
		select {
		case <-l.cfg.Lifecycle.Ended():
			return
		case <-time.After(eraRetry):
		}
	}
}

// eraKey returns the idempotency key of one question of this run for an era.
func (l *Leases) eraKey() string {
	self := l.cfg.Self
	return fmt.Sprintf("tenure era %d.%d.%016x.%d", self.Node, self.Restart, self.Nonce, l.nextID.Add(1))
}
