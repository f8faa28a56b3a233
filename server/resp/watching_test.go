package resp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tenure/server/service"
	"tenure/server/watch"
)

func TestWatch(t *testing.T) {
	f, server := startTold(t, Config{}, testHub)
	writer, s := dial(t, server), dial(t, server)
	first := f.state.Revision()
	writer.want("MSET p/a 1 other 2 p/b 3", "OK")
	watched := func(s *session, after uint64) {
		t.Helper()
		s.want(fmt.Sprintf("TENURE.WATCH p/ %d", after), fmt.Sprintf("[tenure.watch p/ %d]", after))
	}
	watched(s, first)
	s.next(fmt.Sprintf("[tenure.change set p/a 1 %d 0]", first+1))
	s.next(fmt.Sprintf("[tenure.change set p/b 3 %d 1]", first+1))
	writer.want("DEL other p/a", "2")
	s.next(fmt.Sprintf("[tenure.change del p/a nil %d 1]", first+2))
	s.want("PING", "[pong ]")
	s.want("TENURE.WATCH p/ 0", "-ERR Can't execute 'tenure.watch': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / "+
		"PING / QUIT / RESET are allowed in this context")
	again := dial(t, server)
	watched(again, first+1)
	again.next(fmt.Sprintf("[tenure.change del p/a nil %d 1]", first+2))
	s.want("RESET", "RESET")
	writer.want("SET p/a 4", "OK")
	again.next(fmt.Sprintf("[tenure.change set p/a 4 %d 1]", first+3))
	s.want("GET p/a", "4") // and was not told of it
}

// A client that sees no changes for long may still begin where it is told to.
func TestWatchSaysHowFarItIs(t *testing.T) {
	f, server := startTold(t, Config{Heartbeat: 10 * time.Millisecond}, testHub)
	s, writer := dial(t, server), dial(t, server)
	first := f.state.Revision()
	s.want(fmt.Sprintf("TENURE.WATCH p/ %d", first), fmt.Sprintf("[tenure.watch p/ %d]", first))
	writer.want("SET other 1", "OK")
	for want := fmt.Sprintf("[tenure.passed p/ %d]", first+1); ; {
		if got := s.reply(); got == want {
			return
		} else if got != fmt.Sprintf("[tenure.passed p/ %d]", first) {
			t.Fatal(got)
		}
	}
}

func TestWatchIsRefused(t *testing.T) {
	f, server := startTold(t, Config{}, watch.Limits{Waiting: 8, Events: 4, Bytes: 1 << 20})
	s := dial(t, server)
	s.want("TENURE.WATCH p/ -1", "-ERR the revision of TENURE.WATCH is a number, from 0 up: see TENURE.REVISION")
	s.want("TENURE.WATCH "+strings.Repeat("p", 1025)+" 0", "-ERR the prefix of TENURE.WATCH has at most 1024 bytes")
	for range 9 {
		s.want("SET a 1", "OK")
	}
	s.want("TENURE.WATCH p/ 2", "-LOST the history of this node does not reach back to revision 2: ask for "+
		"TENURE.REVISION, then read the keys anew, then watch from that revision")
	s.send("HELLO 3")
	s.reply()
	now := f.state.Revision()
	s.want(fmt.Sprint("TENURE.WATCH p/ ", now), fmt.Sprintf("[tenure.watch p/ %d]", now))
	s.want("TENURE.WATCH q/ 9", "-ERR this connection watches a prefix already: use another connection")
}

// A revision that this store has never had is of another store. To wait until it is reached would hide every change
// until then. While no master answers, nobody knows whether it is one.
func TestWatchFromAnotherStore(t *testing.T) {
	f, server := startTold(t, Config{}, testHub)
	s := dial(t, server)
	next := fmt.Sprint(f.state.Revision() + 1)
	s.want("TENURE.WATCH p/ "+next, "-LOST revision "+next+" is above that of this store, so it is of another one: ask "+
		"for TENURE.REVISION, then read the keys anew, then watch from that revision")
	f.fail = service.ErrNotApplied
	s.send("TENURE.WATCH p/ " + next)
	if got := s.reply(); !strings.HasPrefix(got, "-CLUSTERDOWN ") {
		t.Error(got)
	}
	f.fail = nil
	s.want("TENURE.READ stale", "OK") // the question is one for the master all the same
	f.told()
	s.send("TENURE.WATCH p/ " + next)
	s.reply()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.reads) != 1 || f.reads[0] != service.Default {
		t.Errorf("it was asked in the modes %v", f.reads)
	}
}
