package resp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/kv"
	"tenure/server/service"
	"tenure/server/watch"
)

// testHub is the limits of a hub that remembers little.
var testHub = watch.Limits{Waiting: 8, Events: 1 << 10, Bytes: 1 << 20}

// startTold serves a state whose changes go to a hub with these limits.
func startTold(t *testing.T, c Config, l watch.Limits) (*fake, *Server) {
	t.Helper()
	f := newFake(t)
	c.Hub = watch.New(l)
	c.Hub.Begin(f.state.Revision())
	f.state.Observe(kv.Observer{Changed: c.Hub.Changed})
	return f, start(t, f, c)
}

// next checks the next message.
func (s *session) next(want string) {
	s.t.Helper()
	if got := s.reply(); got != want {
		s.t.Errorf("message %s, want %s", got, want)
	}
}

func TestSubscribers(t *testing.T) {
	for _, version := range []string{"2", "3"} {
		_, server := startTold(t, Config{}, testHub)
		writer, s := dial(t, server), dial(t, server)
		s.send("HELLO " + version)
		s.reply()
		s.want("SUBSCRIBE __keyspace@0__:a __keyevent@0__:del", "[subscribe __keyspace@0__:a 1]")
		s.next("[subscribe __keyevent@0__:del 2]")
		s.want("PSUBSCRIBE __keyevent@*__:s[eE]t", "[psubscribe __keyevent@*__:s[eE]t 3]")
		writer.want("SET a 1", "OK")
		s.next("[message __keyspace@0__:a set]")
		s.next("[pmessage __keyevent@*__:s[eE]t __keyevent@0__:set a]")
		writer.want("SET b 1", "OK")
		s.next("[pmessage __keyevent@*__:s[eE]t __keyevent@0__:set b]")
		writer.want("DEL a b c", "2")
		s.next("[message __keyspace@0__:a del]")
		s.next("[message __keyevent@0__:del a]")
		s.next("[message __keyevent@0__:del b]")
		writer.want("PUBSUB NUMSUB __keyspace@0__:a none", "[__keyspace@0__:a 1 none 0]")
		writer.want("PUBSUB CHANNELS *event*", "[__keyevent@0__:del]")
		writer.want("PUBSUB NUMPAT", "1")
		s.want("PUNSUBSCRIBE", "[punsubscribe __keyevent@*__:s[eE]t 2]")
		s.want("UNSUBSCRIBE __keyspace@0__:a none", "[unsubscribe __keyspace@0__:a 1]")
		s.next("[unsubscribe none 1]")
		writer.want("SET a 2", "OK")
		writer.want("DEL a", "1")
		s.next("[message __keyevent@0__:del a]")
		s.want("UNSUBSCRIBE", "[unsubscribe __keyevent@0__:del 0]")
		s.want("UNSUBSCRIBE", "[unsubscribe nil 0]")
		s.want("GET a", "nil")
		writer.want("PUBSUB CHANNELS", "[]")
	}
}

// What clients of RESP2 send while they wait for messages could not be told from them.
func TestSubscribersOfRESP2MayDoLittleElse(t *testing.T) {
	_, server := startTold(t, Config{}, testHub)
	s := dial(t, server)
	s.want("SUBSCRIBE c", "[subscribe c 1]")
	s.want("GET a", "-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are "+
		"allowed in this context")
	s.want("PING", "[pong ]")
	s.want("PING text", "[pong text]")
	s.want("RESET", "RESET")
	s.want("PING", "PONG")
	s.want("GET a", "nil")
	s.send("HELLO 3")
	s.reply()
	s.want("SUBSCRIBE c", "[subscribe c 1]")
	s.want("GET a", "nil")
	s.want("PING", "PONG")
}

func TestExpiredIsTold(t *testing.T) {
	f, server := startTold(t, Config{}, testHub)
	var timed kv.Timed
	f.state.Observe(kv.Observer{Timed: func(told kv.Timed) { timed = told }})
	s := dial(t, server)
	s.want("SUBSCRIBE __keyspace@0__:a __keyevent@0__:expired", "[subscribe __keyspace@0__:a 1]")
	s.next("[subscribe __keyevent@0__:expired 2]")
	dial(t, server).want("SET a 1 PX 100", "OK")
	s.next("[message __keyspace@0__:a set]")
	f.apply(t, kv.Command{Op: kv.OpEndKey, Key: "a", Arm: timed.Arm})
	s.next("[message __keyspace@0__:a expired]")
	s.next("[message __keyevent@0__:expired a]")
}

func TestSubscriptionsAreRefused(t *testing.T) {
	_, server := startTold(t, Config{}, testHub)
	s := dial(t, server)
	s.want("PUBLISH c text", "-"+errPublish)
	s.want("SUBSCRIBE "+strings.Repeat("c", maxChannelBytes+1), "-ERR a channel has at most 2048 bytes")
	many := "PSUBSCRIBE"
	for i := range maxSubscriptions {
		many += fmt.Sprintf(" %d", i)
	}
	s.send(many)
	for range maxSubscriptions {
		s.reply()
	}
	s.want("SUBSCRIBE c", "-ERR a connection has at most 1024 subscriptions: use a pattern, or more connections")
	none := dial(t, start(t, newFake(t), Config{}))
	none.want("SUBSCRIBE c", "-CLUSTERDOWN not applied: this node has no history yet")
}

// lines counts what is logged.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// A client that does not read is not waited for, and nothing is kept for it.
func TestASlowSubscriberIsCutOff(t *testing.T) {
	logged := make(lines, 16)
	_, server := startTold(t, Config{Config: service.Config{Logger: zerolog.New(logged)}, SendTimeout: 50 * time.Millisecond},
		watch.Limits{Waiting: 8, Events: 64, Bytes: 1 << 20})
	slow, writer := dial(t, server), dial(t, server)
	for i := range 200 { // each of them matches
		stars := strings.Repeat("*", i+1)
		slow.want("PSUBSCRIBE "+stars, fmt.Sprintf("[psubscribe %s %d]", stars, i+1))
	}
	for i := 0; ; i++ {
		select {
		case line := <-logged:
			if !strings.Contains(line, "too slowly") {
				t.Error(line)
			}
			for { // what was on its way, and then the end
				if _, err := slow.in.Discard(1); err != nil {
					return
				}
			}
		default:
			writer.want(fmt.Sprintf("SET %0200d 1", i%200), "OK")
		}
	}
}

// behind is a node that applies a write which was answered before only when it is read, as a follower may.
type behind struct {
	*fake
	t    *testing.T
	late *kv.Command
}

func (b *behind) GetMany(timeout time.Duration, mode service.Mode, keys []string, each func(int, kv.Entry) bool) (uint64, error) {
	if b.late != nil {
		b.apply(b.t, *b.late)
		b.late = nil
	}
	return b.fake.GetMany(timeout, mode, keys, each)
}

func TestSubscribersAreNotToldOfWhatWasBefore(t *testing.T) {
	f := newFake(t)
	hub := watch.New(testHub)
	hub.Begin(f.state.Revision())
	f.state.Observe(kv.Observer{Changed: hub.Changed})
	b := &behind{fake: f, t: t, late: &kv.Command{Op: kv.OpSet, Key: "before"}}
	server := start(t, b, Config{Config: service.Config{Hub: hub}})
	s, writer := dial(t, server), dial(t, server)
	s.want("PSUBSCRIBE __keyspace*", "[psubscribe __keyspace* 1]")
	writer.want("SET a 1", "OK")
	s.next("[pmessage __keyspace* __keyspace@0__:a set]")
	s.want("PUNSUBSCRIBE", "[punsubscribe __keyspace* 0]")
	b.late = &kv.Command{Op: kv.OpSet, Key: "c"}
	s.want("SUBSCRIBE __keyspace@0__:c", "[subscribe __keyspace@0__:c 1]") // the notifier may be behind
	writer.want("DEL c", "1")
	s.next("[message __keyspace@0__:c del]")
}

func TestWhatIsToldCanBeChosen(t *testing.T) {
	_, server := startTold(t, Config{}, testHub)
	writer, s := dial(t, server), dial(t, server)
	for _, c := range []struct{ set, get string }{
		{"KEA", "AKE"}, {"KA", "AK"}, {"EK$lshz", "$lshzKE"}, {"Kg", "gK"}, {"xE", "xE"}, {"E$", "$E"},
	} {
		s.want("config set notify-keyspace-events "+c.set, "OK")
		s.want("config get notify-keyspace-events", "[notify-keyspace-events "+c.get+"]")
	}
	s.send("config set notify-keyspace-events Z")
	if got := s.reply(); !strings.HasPrefix(got, "-ERR CONFIG SET failed") {
		t.Error(got)
	}
	var long eventFlags
	if !long.parse(strings.Repeat("AKE", 1<<16)) || long.text() != "AKE" || len(*long.set) > len(allEventFlags) {
		t.Errorf("%d bytes are kept", len(*long.set))
	}
	s.want("psubscribe *", "[psubscribe * 1]")
	writer.want("set a 1", "OK")
	s.next("[pmessage * __keyevent@0__:set a]")
	writer.want("del a", "1") // is not told
	writer.want("set b 1", "OK")
	s.next("[pmessage * __keyevent@0__:set b]")
}
