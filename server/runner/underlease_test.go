package runner

import (
	"testing"
	"time"

	"tenure/kv"
	"tenure/server/replica"
	"tenure/server/replica/elector"
)

// "chosen → apply → lease still held, same epoch?" (log.md, One write): the clock that acknowledges is read after the
// entry was applied. Here a reader's lock holds the application up beyond the lease.
func TestWriteUnderLeaseReadsTheClockAfterApplying(t *testing.T) {
	for _, late := range []bool{false, true} {
		l := newLoneLog(t)
		reply := make(chan answer, 1)
		cmd := kv.Command{Op: kv.OpSet, Key: "k", Value: []byte("v")}
		l.inbox.putClient(logEvent{reply: reply, Event: replica.Event{Write: &replica.Write{
			ID: 1, Command: kv.EncodeCommand(&cmd), Until: l.cfg.Clock.Now() + time.Hour}}})
		if err := l.round(); err != nil {
			t.Fatal(err)
		}
		l.syncAll()
		state := l.cfg.State
		state.mu.RLock()
		ended := make(chan error, 1)
		go func() { ended <- l.round() }()
		for state.mu.TryRLock() { // until the round, which has read its clock, waits for the lock
			state.mu.RUnlock()
		}
		begun := l.cfg.Clock.Now()
		l.pass(begun)
		if late {
			deadline := l.cfg.Clock.Now()
			l.cfg.Mastership.SetLease(elector.State{Tenure: 1, Deadline: deadline})
			l.pass(deadline)
		}
		state.mu.RUnlock()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		r := <-reply
		if want := map[bool]replica.Outcome{false: replica.Done, true: replica.Unknown}[late]; r.Outcome != want {
			t.Errorf("lease over while the entry was applied: %v, answered %+v", late, r)
		}
	}
}
