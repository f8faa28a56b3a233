package resp

import (
	"strings"
	"testing"
	"time"
)

// A listing ends after a time, as over HTTP: it holds a view of the state, for which the disk keeps old pages.
func TestListingsEndInTime(t *testing.T) {
	f := newFake(t)
	fill(t, f, 1000, animal)
	s := dial(t, start(t, f, Config{ListingTimeout: time.Nanosecond}))
	for _, command := range []string{"KEYS *", "DBSIZE"} {
		s.send(command)
		if got := s.reply(); !strings.HasPrefix(got, "-ERR the listing took too long: use SCAN") {
			t.Errorf("%s: %.100s", command, got)
		}
	}
	s.wantPrefix("[", "SCAN 0 COUNT 10")
}
