package runner

import (
	"errors"
	"testing"
	"time"

	"tenure/server/replica/elector"
)

var errDamaged = errors.New("damaged")

// A stop does not wait for rounds of a log that has met damage, and does not release the lease.
func TestStopAfterDamageWaitsForNobody(t *testing.T) {
	l := newLoneLog(t)
	l.inbox.drain = l.drain
	l.cfg.Lifecycle.Fail(errDamaged)
	l.inbox.close()
	gone := make(chan struct{})
	go func() {
		h := Handover{Clock: l.cfg.Clock, Log: l} // without an Elector
		h.Give(0, elector.CauseStopping)
		close(gone)
	}()
	select {
	case <-gone:
	case <-time.After(20 * time.Second):
		t.Fatal("the stop waits for a log that nobody steps")
	}
}
