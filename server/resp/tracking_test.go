package resp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/kv"
	"tenure/server/admission"
	"tenure/server/service"
	"tenure/server/watch"
)

func TestTrackingTellsWhatChanges(t *testing.T) {
	_, server := startTold(t, Config{}, testHub)
	s, other := dial(t, server), dial(t, server)
	s.want("client tracking on", "-ERR CLIENT TRACKING needs RESP3: send HELLO 3 before")
	s.send("hello 3")
	s.reply()
	s.want("client tracking on", "OK")
	other.want("set a 1", "OK")
	s.next("[invalidate [a]]")
	other.want("mset b 1 c 2", "OK")
	s.next("[invalidate [b c]]")
	s.want("client tracking on bcast prefix u/ prefix v/", "OK")
	other.want("set a 2", "OK")
	other.want("set v/1 2", "OK")
	s.next("[invalidate [v/1]]")
	s.want("client tracking off", "OK")
	other.want("set v/1 3", "OK")
	s.want("get v/1", "3")
	for _, bad := range []string{"on prefix a", "on optin", "on redirect 7", "maybe", "on noloop", "on prefix",
		"on bcast" + strings.Repeat(" prefix p", maxTrackedPrefixes+1)} {
		s.send("client tracking " + bad)
		if got := s.reply(); !strings.HasPrefix(got, "-ERR ") {
			t.Errorf("%s: %s", bad, got)
		}
	}
	s.want("client tracking on", "OK")
	s.want("reset", "RESET")
	other.want("set a 4", "OK")
	s.want("get a", "4")
}

// A CLIENT TRACKING that is refused leaves the tracking that is on.
func TestTrackingThatIsRefusedChangesNothing(t *testing.T) {
	limits := admission.Limits{WaitingPerClient: 1, Loopback: true}
	_, server := startTold(t, Config{Config: service.Config{Admission: admission.NewControl(limits, zerolog.Nop(), admission.NewMetrics())}}, testHub)
	s, other := dial(t, server), dial(t, server)
	s.send("hello 3")
	s.reply()
	s.want("client tracking on", "OK")
	s.wantPrefix("-TRYAGAIN", "client tracking on bcast prefix k")
	other.want("set a 1", "OK")
	s.next("[invalidate [a]]")
}

// changing has a change come while a read is under way, which it does not see.
type changing struct {
	*fake
	t    testing.TB
	more int // changes of other keys behind it
}

func (c *changing) GetMany(d time.Duration, m service.Mode, keys []string, each func(int, kv.Entry) bool) (uint64, error) {
	revision, err := c.fake.GetMany(d, m, keys, each)
	if keys[0] == "read" {
		c.apply(c.t, kv.Command{Op: kv.OpSet, Key: "read", Value: []byte("new")})
		time.Sleep(20 * time.Millisecond) // who tells of it could do so now
		for i := range c.more {
			c.apply(c.t, kv.Command{Op: kv.OpSet, Key: fmt.Sprint(i)})
		}
	}
	return revision, err
}

// A change that a read has not seen is told behind the reply, or the client would keep what it has read.
func TestTrackingTellsBehindTheReply(t *testing.T) {
	f, hub := newFake(t), watch.New(testHub)
	f.apply(t, kv.Command{Op: kv.OpSet, Key: "read", Value: []byte("old")})
	hub.Begin(f.state.Revision())
	f.state.Observe(kv.Observer{Changed: hub.Changed})
	s := dial(t, start(t, &changing{fake: f, t: t}, Config{Config: service.Config{Hub: hub}}))
	s.send("hello 3")
	s.reply()
	s.want("client tracking on", "OK")
	s.want("get read", "old")
	s.next("[invalidate [read]]")
}

// A client that changes have passed by is told to drop everything, and goes on.
func TestTrackingDropsEverythingWhenChangesAreLost(t *testing.T) {
	f, hub := newFake(t), watch.New(watch.Limits{Waiting: 8, Events: 4, Bytes: 1 << 20})
	hub.Begin(f.state.Revision())
	f.state.Observe(kv.Observer{Changed: hub.Changed})
	b := &changing{fake: f, t: t, more: 20}
	s := dial(t, start(t, b, Config{Config: service.Config{Hub: hub}}))
	s.send("hello 3")
	s.reply()
	s.want("client tracking on", "OK")
	s.want("get read", "nil") // while it is carried out nothing is told
	s.next("[invalidate [read]]")
	s.next("[invalidate nil]")
	f.apply(t, kv.Command{Op: kv.OpSet, Key: "later"})
	s.next("[invalidate [later]]")
}
