package runner

import (
	"testing"

	"tenure/server/replica/elector"
)

// Give keeps other calls out until its release has left and the log may lead again. With two at a time, the end of one
// would let the log lead while the other releases the lease.
func TestGiveKeepsOthersOut(t *testing.T) {
	l := newLoneLog(t)
	l.inbox.drain = l.drain
	e := &Elector{cfg: ElectorConfig{Lifecycle: l.cfg.Lifecycle}, in: make(chan electorEvent)}
	h := &Handover{Clock: l.cfg.Clock, Log: l, Elector: e}
	given := make(chan struct{}, 2)
	for range cap(given) {
		go func() { h.Give(0, elector.CauseHandedOver); given <- struct{}{} }()
	}
	for range cap(given) {
		first := <-e.in
		if h.mu.TryLock() {
			t.Fatal("another hand-over may begin before the release has left")
		}
		close(first.done)
		<-given
	}
}
