package resp

import (
	"bytes"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tenure/server/resp/glob"
	"tenure/server/resp/proto"
)

// The commands of those who want to be told of changes. Each of the first four replies once for each name.
var subscriptionCommands = []command{
	{name: "subscribe", arity: -2, alone: true, subscriber: true,
		run: func(c *conn, a [][]byte) { c.subscribe("subscribe", &c.subs.channels, a[1:]) }},
	{name: "psubscribe", arity: -2, alone: true, subscriber: true,
		run: func(c *conn, a [][]byte) { c.subscribe("psubscribe", &c.subs.patterns, a[1:]) }},
	{name: "unsubscribe", arity: -1, alone: true, subscriber: true,
		run: func(c *conn, a [][]byte) { c.unsubscribe("unsubscribe", &c.subs.channels, a[1:]) }},
	{name: "punsubscribe", arity: -1, alone: true, subscriber: true,
		run: func(c *conn, a [][]byte) { c.unsubscribe("punsubscribe", &c.subs.patterns, a[1:]) }},
	{name: "publish", arity: 3, run: func(c *conn, _ [][]byte) { c.fail(errPublish) }},
	{name: "pubsub", arity: -2, run: pubsub},
}

const errPublish = "ERR nothing can be published here: channels tell of changes of keys, __keyspace@0__:KEY and " +
	"__keyevent@0__:EVENT, and of nothing else. Write a key instead"

// subscriptions is what one connection is told of. Its serving goroutine alone changes them, with mu held; the notifier
// reads them with mu held.
type subscriptions struct {
	mu       sync.Mutex // also held while something is sent: replies and messages come whole, and in order
	channels []subscription
	patterns []subscription
	reader   reader         // who is told
	client   string         // Bounds.Key of the client
	events   eventFlags     // what of keys is told
	asked    []string       // the last names of masters that this connection asked for
	v3       bool           // how messages are written
	notified bool           // a notifier runs for them
	watching bool           // another runs for TENURE.WATCH
	stop     chan struct{}  // closed when the connection ends; nil: no notifier was ever needed
	going    sync.WaitGroup // of notifiers

	// What notifiers are made of.
	net    net.Conn
	cfg    *Config
	to     *store
	shared *shared
}

// subscription is to the changes after a revision.
type subscription struct {
	name  string // of the channel, or the pattern
	after uint64
}

// find returns where name is in list, -1 if it is not there.
func find(list []subscription, name string) int {
	return slices.IndexFunc(list, func(s subscription) bool { return s.name == name })
}

// hears reports whether there is a subscription that has the channel, with mu held.
func (s *subscriptions) hears(channel string) bool {
	return find(s.channels, channel) >= 0 ||
		slices.ContainsFunc(s.patterns, func(p subscription) bool { return glob.Match(p.name, channel) })
}

// count returns how many there are. Only the serving goroutine calls it without mu.
func (s *subscriptions) count() int { return len(s.channels) + len(s.patterns) }

// bytes returns how many the names have together. Only the serving goroutine calls it.
func (s *subscriptions) bytes() (n int) {
	for _, list := range [][]subscription{s.channels, s.patterns} {
		for i := range list {
			n += len(list[i].name)
		}
	}
	return n
}

// patternBytes returns how many the patterns have together. Only the serving goroutine calls it.
func (s *subscriptions) patternBytes() (n int) {
	for i := range s.patterns {
		n += len(s.patterns[i].name)
	}
	return n
}

// told reports whether the connection is told of anything. Only the serving goroutine calls it.
func (s *subscriptions) told() bool { return s.watching || s.count() > 0 }

// stopTelling ends the notifiers that run, and waits for their end: at most for as long as sending may take, unless the
// connection was closed before. mu is not held.
func (s *subscriptions) stopTelling() {
	if s.stop != nil {
		close(s.stop)
		s.going.Wait()
	}
	s.stop, s.notified, s.watching = nil, false, false
}

// speak sets the version of the protocol.
func (c *conn) speak(v3 bool) {
	c.subs.mu.Lock()
	defer c.subs.mu.Unlock()
	c.out.V3, c.batch.v3, c.subs.v3 = v3, v3, v3
}

// subscribe adds names to list, which is one of c.subs. The replies are sent before the first message can be.
func (c *conn) subscribe(word string, list *[]subscription, names [][]byte) {
	if len(names)+c.subs.count() > maxSubscriptions {
		c.fail("ERR a connection has at most " + strconv.Itoa(maxSubscriptions) + " subscriptions: use a pattern, or " +
			"more connections")
		return
	}
	total, patterns := c.subs.bytes(), c.subs.patternBytes()
	for _, n := range names {
		if len(n) > maxChannelBytes {
			c.fail("ERR a channel has at most " + strconv.Itoa(maxChannelBytes) + " bytes")
			return
		}
		total += len(n)
		patterns += len(n)
	}
	if word == "psubscribe" && patterns > maxPatternsBytes {
		c.fail("ERR the patterns of a connection have at most " + strconv.Itoa(maxPatternsBytes) + " bytes together")
		return
	}
	if total > maxChannelsBytes {
		c.fail("ERR the channels and patterns of a connection have at most " + strconv.Itoa(maxChannelsBytes) +
			" bytes together")
		return
	}
	for _, n := range names {
		if err := c.to.mayHear(word == "psubscribe", string(n)); err != nil {
			c.fail(channelText(err))
			return
		}
	}
	after, err := c.subs.subscribedFrom(names)
	if err == nil {
		err = c.subs.startNotifier(after)
	}
	if err != nil {
		c.fail(errorText(err))
		return
	}
	c.subs.mu.Lock()
	defer c.subs.mu.Unlock()
	for _, n := range names {
		if name := string(n); find(*list, name) < 0 {
			*list = append(*list, subscription{name, after})
			c.told.join(word == "psubscribe", name)
		}
		c.subs.confirm(&c.out.Writer, word, n)
	}
	c.out.sendNow()
}

// subscribedFrom returns the revision after which changes are told. Who asks for no keys is subscribed without a master
// too.
func (s *subscriptions) subscribedFrom(names [][]byte) (uint64, error) {
	if slices.ContainsFunc(names, func(n []byte) bool { return !bytes.HasPrefix(n, []byte("+")) }) {
		return s.caughtUp()
	}
	newest, err := s.cfg.Hub.Newest()
	return newest, notApplied(err)
}

// unsubscribe takes names out of list, which is one of c.subs; without names all.
func (c *conn) unsubscribe(word string, list *[]subscription, names [][]byte) {
	c.leave(word, list, names)
	if !c.subs.told() {
		c.subs.stopTelling() // its place among the waits is free for others
	}
}

// leave takes names out of list and replies. Without names it takes all.
func (c *conn) leave(word string, list *[]subscription, names [][]byte) {
	c.subs.mu.Lock()
	defer c.subs.mu.Unlock()
	if len(names) == 0 {
		for _, n := range *list {
			names = append(names, []byte(n.name))
		}
	}
	for _, n := range names {
		if at := find(*list, string(n)); at >= 0 {
			*list = slices.Delete(*list, at, at+1)
			c.told.leave(word == "punsubscribe", string(n))
		}
		c.subs.confirm(&c.out.Writer, word, n)
	}
	if len(names) == 0 {
		c.subs.confirm(&c.out.Writer, word, nil)
	}
	c.out.sendNow()
}

// leaveAll ends all subscriptions without a reply.
func (s *subscriptions) leaveAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.channels {
		s.shared.told.leave(false, n.name)
	}
	for _, n := range s.patterns {
		s.shared.told.leave(true, n.name)
	}
	s.channels, s.patterns = nil, nil
}

// confirm replies how many subscriptions there are after one was made or ended; name is nil if there was none to end.
func (s *subscriptions) confirm(w *proto.Writer, word string, name []byte) {
	w.Push(3)
	w.Text(word)
	if name == nil {
		w.Null()
	} else {
		w.Bulk(name)
	}
	w.Int(int64(s.count()))
}

// audience counts the subscriptions on this node. It is safe for concurrent use.
type audience struct {
	mu       sync.Mutex
	channels map[string]int
	patterns map[string]int
}

// of returns the counts of channels, or of patterns.
func (a *audience) of(patterns bool) *map[string]int {
	if patterns {
		return &a.patterns
	}
	return &a.channels
}

func (a *audience) join(pattern bool, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	counts := a.of(pattern)
	if *counts == nil {
		*counts = make(map[string]int)
	}
	(*counts)[name]++
}

func (a *audience) leave(pattern bool, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	counts := *a.of(pattern)
	if counts[name]--; counts[name] == 0 {
		delete(counts, name)
	}
}

// names returns the channels that somebody is subscribed to, in order.
func (a *audience) names() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.channels))
}

// channelsLike replies the channels that match pattern and that the client may know.
func (c *conn) channelsLike(pattern string) {
	var names []string
	bytes, began := 0, time.Now()
	for _, n := range c.told.names() {
		if !glob.Match(pattern, n) || !c.to.mayKnow(n) {
			continue
		}
		names = append(names, n)
		bytes += len(n)
		switch {
		case !c.exec.held.hold(len(n)):
			c.fail(errorText(c.exec.tooMuchUnread()))
			return
		case bytes > maxReadBytes:
			c.fail(errorText(errLargeRead))
			return
		case time.Since(began) > c.cfg.ListingTimeout:
			c.fail("ERR the list took too long: use another pattern")
			return
		}
	}
	c.batch.reply(func(w *proto.Writer) { texts(w, names) })
}

// pubsub lists the subscriptions on this node.
func pubsub(c *conn, args [][]byte) {
	if err := c.to.needSome(""); err != nil {
		c.fail(errorText(err))
		return
	}
	a := &c.told
	switch sub := strings.ToLower(string(args[1])); {
	case sub == "channels" && len(args) <= 3:
		pattern := []byte("*")
		if len(args) == 3 {
			pattern = args[2]
		}
		if refusal := patternRefusal(pattern); refusal != "" {
			c.fail(refusal)
			return
		}
		c.channelsLike(string(pattern))
	case sub == "numsub":
		c.batch.reply(func(w *proto.Writer) {
			a.mu.Lock()
			defer a.mu.Unlock()
			w.Array(2 * len(args[2:]))
			for _, n := range args[2:] {
				w.Bulk(n)
				if c.to.mayKnow(string(n)) {
					w.Int(int64(a.channels[string(n)]))
				} else {
					w.Int(0)
				}
			}
		})
	case sub == "numpat" && len(args) == 2:
		c.batch.reply(func(w *proto.Writer) {
			a.mu.Lock()
			defer a.mu.Unlock()
			w.Int(int64(len(a.patterns)))
		})
	default:
		c.fail("ERR unknown subcommand or wrong number of arguments for '" + string(args[1]) + "'. Try PUBSUB HELP.")
	}
}
