package runner

import (
	"time"

	"tenure/kv"
	"tenure/server/replica"
	"tenure/server/replica/leases"
)

// askEra has the log allot an era of fencing tokens to this run, however long that takes. There is one call at a time.
func (l *Leases) askEra() {
	for {
		r, err := l.cfg.Log.Write(replica.EraTimeout, l.era.Next(l.cfg.State.Revision()), nil)
		if err == nil && r.Outcome == replica.Done {
			if era := l.era.Took(&r.Result); era != 0 {
				l.cfg.Logger.Info().Uint32("era", era).Msg("an era of fencing tokens was allotted to this run")
				l.inbox.put(leasesEvent{Event: leases.Event{Era: era}})
				return
			}
			if r.Result.Code != kv.CodeKeyTooOld {
				l.cfg.Logger.Error().Uint8("code", uint8(r.Result.Code)).
					Msg("no era was allotted: this node does not vote about named leases; it asks again")
			}
		}
		select {
		case <-l.cfg.Lifecycle.Ended():
			return
		case <-time.After(replica.EraRetry):
		}
	}
}
