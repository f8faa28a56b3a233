package resp

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"time"

	"github.com/rs/zerolog"

	"tenure/server/admission"
	"tenure/server/resp/glob"
	"tenure/server/resp/proto"
	"tenure/server/service"
	"tenure/server/watch"
)

// notifier sends one connection the changes to which it is subscribed or which it watches, in a goroutine of its own.
// It reads them from the shared history and keeps no queue. A client that reads too slowly is disconnected once the
// history has moved on, or its socket has been full for the timeout of sending. From this the client learns that it
// missed changes.
type notifier struct {
	net     net.Conn
	subs    *subscriptions
	timeout time.Duration // of sending
	log     zerolog.Logger
	stop    <-chan struct{}
	// tell sends the messages for events. idle, unless it is nil, runs at every heartbeat, for example to send the
	// position.
	tell      func(events []watch.Event) error
	idle      func() error
	heartbeat time.Duration

	// lost, unless it is nil, handles an error of the cursor, and returns nil if it has recovered.
	lost func(err error) error

	hub    *watch.Hub
	place  admission.Place // among the waits of the client
	waiter *watch.Waiter
	cursor *watch.Cursor
	out    proto.Writer
	events [eventsAtOnce]watch.Event
}

const (
	// lookForMasterEvery is how soon a subscriber is told that another node is master.
	lookForMasterEvery = 100 * time.Millisecond
	everyRevision      = math.MaxUint64

	eventsAtOnce = 16
	sendBytes    = 32 << 10 // messages are sent once they have so many bytes
)

// caughtUp returns a revision at or above that of every write answered before, by any node. Subscribers get only later
// changes. It costs as much as a read.
func (s *subscriptions) caughtUp() (uint64, error) {
	if err := s.to.ReadPoint(); err != nil {
		return 0, err
	}
	newest, err := s.cfg.Hub.Newest()
	return newest, notApplied(err)
}

// notApplied wraps an error of the hub in one after which clients may repeat the command.
func notApplied(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, service.ErrOverloaded):
		return err
	case errors.Is(err, watch.ErrFull):
		return service.Overloaded(err)
	}
	return fmt.Errorf("%w: %w", service.ErrNotApplied, err)
}

// startNotifier starts the connection's notifier, behind a revision, if it has none yet.
func (s *subscriptions) startNotifier(after uint64) error {
	if s.notified {
		return nil
	}
	n, err := s.notifier("", after)
	if err != nil {
		return notApplied(err)
	}
	n.tell = n.notify
	w := &switches{notifier: n, look: s.lookForMaster}
	w.last, _ = w.look()
	n.idle, n.heartbeat = w.tell, lookForMasterEvery
	s.notified = true
	s.going.Go(n.run)
	return nil
}

// notifier returns a notifier for the changes under prefix after a revision. It does not run yet. The error is the
// hub's.
func (s *subscriptions) notifier(prefix string, after uint64) (*notifier, error) {
	cursor, err := s.cfg.Hub.Cursor(prefix, after)
	if err != nil {
		return nil, err
	}
	place, err := s.to.Bounds.TakePlace()
	if err != nil {
		return nil, err
	}
	waiter, err := s.cfg.Hub.Prefix("") // a cursor that slept through other changes would be lost
	if err != nil {
		place.Give()
		return nil, err
	}
	if s.stop == nil {
		s.stop = make(chan struct{})
	}
	return &notifier{net: s.net, subs: s, stop: s.stop, timeout: s.cfg.SendTimeout, log: s.cfg.Logger,
		heartbeat: s.cfg.Heartbeat, hub: s.cfg.Hub, place: place, waiter: waiter, cursor: cursor}, nil
}

// run sends changes until the connection ends, or the token of its client does.
func (n *notifier) run() {
	defer n.survive()
	defer n.place.Give()
	defer n.waiter.Close()
	var beat <-chan time.Time
	if n.idle != nil {
		t := time.NewTicker(n.heartbeat)
		defer t.Stop()
		beat = t.C
	}
	for beats := false; ; {
		n.waiter.Arm()
		err := n.catchUp()
		if err == nil && beats {
			beats, err = false, n.idle()
		}
		if err != nil {
			if !errors.Is(err, errStopped) {
				n.cutOff(err)
			}
			return
		}
		changed, expires, forget := n.permissions()
		select {
		case <-n.waiter.C():
		case <-changed:
		case <-expires:
		case <-beat:
			beats = true
		case <-n.stop:
			forget()
			return
		}
		forget()
	}
}

// permissions returns what tells of their changes: see reader.news.
func (n *notifier) permissions() (changed <-chan struct{}, expires <-chan time.Time, forget func()) {
	n.subs.mu.Lock()
	defer n.subs.mu.Unlock()
	return n.subs.reader.news()
}

// mayGoOn returns nil if the client is still somebody.
func (n *notifier) mayGoOn() error {
	n.subs.mu.Lock()
	defer n.subs.mu.Unlock()
	return n.subs.reader.again()
}

// cutOff closes the connection, so that its client knows that it is told no more.
func (n *notifier) cutOff(err error) {
	_ = n.net.Close()
	if errors.Is(err, watch.ErrLost) || errors.Is(err, os.ErrDeadlineExceeded) {
		n.log.Warn().Err(err).Stringer("client", n.net.RemoteAddr()).
			Msg("a client of Redis was cut off: it has missed changes, or reads them too slowly")
	}
}

// catchUp sends what has changed.
func (n *notifier) catchUp() error {
	for more := true; more; {
		var events []watch.Event
		var err error
		if events, more, err = n.cursor.Next(n.events[:0]); err != nil && n.lost != nil {
			err = n.lost(err)
		}
		if err != nil {
			return err
		}
		if err := n.mayGoOn(); err != nil {
			return err
		}
		if err := n.tell(events); err != nil {
			return err
		}
		clear(events) // the values go with the history
	}
	return nil
}

// errStopped: the notifier is told to end.
var errStopped = errors.New("the notifier was stopped")

// notify sends the messages about events that somebody is subscribed to.
func (n *notifier) notify(events []watch.Event) error {
	n.subs.mu.Lock()
	defer n.subs.mu.Unlock()
	if n.subs.count() == 0 {
		return nil
	}
	n.out.V3 = n.subs.v3
	for i := range events {
		e := &events[i]
		if e.Session != "" || !n.subs.reader.may(e.Key) {
			continue
		}
		select {
		case <-n.stop:
			return errStopped
		default:
		}
		if err := n.notifyOne(e); err != nil {
			return err
		}
	}
	return sendAll(n.net, &n.out, n.timeout)
}

// notifyOne adds the messages about one event, as far as notify-keyspace-events of the connection has
// them told.
func (n *notifier) notifyOne(e *watch.Event) error {
	name := eventName(e)
	flags := n.subs.events
	if !flags.has(classOf(name)) {
		return nil
	}
	if flags.has("K") {
		if err := n.message(e.Revision, "__keyspace@0__:"+e.Key, name); err != nil {
			return err
		}
	}
	if flags.has("E") {
		return n.message(e.Revision, "__keyevent@0__:"+name, e.Key)
	}
	return nil
}

// eventName is what happened to a key.
func eventName(e *watch.Event) string {
	switch {
	case e.Expired:
		return "expired"
	case e.Entry == nil:
		return "del"
	}
	return "set"
}

// message adds a message about a change of that revision to each subscription that has the channel.
func (n *notifier) message(revision uint64, channel, text string) error {
	if at := find(n.subs.channels, channel); at >= 0 && revision > n.subs.channels[at].after {
		n.out.Push(3)
		n.out.Text("message")
		n.out.Text(channel)
		n.out.Text(text)
	}
	for _, p := range n.subs.patterns {
		if revision <= p.after || !glob.Match(p.name, channel) {
			continue
		}
		n.out.Push(4)
		n.out.Text("pmessage")
		n.out.Text(p.name)
		n.out.Text(channel)
		n.out.Text(text)
		if n.out.Len() < sendBytes {
			continue
		}
		if err := sendAll(n.net, &n.out, n.timeout); err != nil {
			return err
		}
	}
	return nil
}
