package resp

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tenure/api"
	"tenure/server/resp/proto"
	"tenure/server/watch"
)

// CLIENT TRACKING tells a client which keys have changed, so that it drops them from its cache. No table of the keys
// that a client has read is kept. So in the default mode, too, the client gets every changed key, as clients must
// expect. When the node's history has moved on, the client is told to drop everything.

// tracking is the state of a connection with CLIENT TRACKING ON. Only its serving goroutine changes it.
type tracking struct {
	prefixes []string // of the keys that are told
	// turn is held by the goroutine that may send: the serving goroutine from taking a command until the replies are
	// sent, and the notifier while it sends. So a change after a read is announced after the read's reply. Announced
	// before, it would leave the client with the old value from that reply.
	turn    chan struct{} // capacity 1; nil: off
	holding bool          // the serving goroutine holds the turn
	stop    chan struct{}
	going   sync.WaitGroup
}

// begin takes the turn for a command.
func (t *tracking) begin() {
	if t.turn != nil && !t.holding {
		t.turn <- struct{}{}
		t.holding = true
	}
}

// yield gives the turn back, behind the replies.
func (t *tracking) yield() {
	if t.holding {
		<-t.turn
		t.holding = false
	}
}

// off ends the tracking, and waits for the end of its goroutine.
func (t *tracking) off() {
	if t.turn == nil {
		return
	}
	close(t.stop)
	t.going.Wait()
	t.turn, t.holding, t.prefixes = nil, false, nil
}

const maxTrackedPrefixes = 64 // of one connection

// setTracking is CLIENT TRACKING.
func (c *conn) setTracking(args [][]byte) {
	on, prefixes, refusal := parseTracking(args)
	switch {
	case refusal != "":
		c.fail(refusal)
		return
	case !on:
		c.track.off()
		c.batch.reply((*proto.Writer).OK)
		return
	case !c.out.V3:
		c.fail("ERR CLIENT TRACKING needs RESP3: send HELLO 3 before")
		return
	}
	if len(prefixes) == 0 {
		prefixes = append(prefixes, "")
	}
	for _, p := range prefixes {
		if err := c.to.needSome(p); err != nil {
			c.fail(errorText(err))
			return
		}
	}
	after, err := c.cfg.Hub.Newest() // what is read from now on is at least as new
	var n *notifier
	if err == nil {
		n, err = c.subs.notifier("", after)
	}
	if err != nil {
		c.fail(errorText(notApplied(err))) // what was tracked before still is
		return
	}
	c.track.off()
	t := &c.track
	t.prefixes, t.stop, t.turn = prefixes, make(chan struct{}), make(chan struct{}, 1)
	t.begin()
	n.stop = t.stop
	n.tell = (&invalidating{n, prefixes, t.turn}).tell
	n.lost = (&invalidating{n, nil, t.turn}).all
	t.going.Go(n.run)
	c.batch.reply((*proto.Writer).OK)
}

// parseTracking reads the arguments of CLIENT TRACKING.
func parseTracking(args [][]byte) (on bool, prefixes []string, refusal string) {
	switch strings.ToLower(string(args[0])) {
	case "on":
		on = true
	case "off":
	default:
		return false, nil, errSyntax
	}
	broadcast := false
	for i := 1; i < len(args); i++ {
		switch option := strings.ToLower(string(args[i])); {
		case option == "bcast":
			broadcast = true
		case option == "prefix" && i+1 < len(args):
			i++
			prefixes = append(prefixes, string(args[i]))
		case slices.Contains([]string{"redirect", "optin", "optout", "noloop"}, option):
			return false, nil, "ERR CLIENT TRACKING takes no " + strings.ToUpper(option) + " here: only BCAST and PREFIX"
		default:
			return false, nil, errSyntax
		}
	}
	switch {
	case len(prefixes) > 0 && !broadcast:
		return false, nil, "ERR PREFIX option requires BCAST mode to be enabled"
	case slices.ContainsFunc(prefixes, func(p string) bool { return len(p) > api.MaxKeyBytes }):
		return false, nil, "ERR a prefix has at most " + strconv.Itoa(api.MaxKeyBytes) + " bytes"
	case len(prefixes) > maxTrackedPrefixes:
		return false, nil, "ERR a connection tracks at most " + strconv.Itoa(maxTrackedPrefixes) + " prefixes"
	}
	return on, prefixes, ""
}

// invalidating is what a notifier does for CLIENT TRACKING.
type invalidating struct {
	*notifier
	prefixes []string
	turn     chan struct{}
}

// tell says which keys have changed, of those that the client may read.
func (v *invalidating) tell(events []watch.Event) error {
	keys := v.of(events)
	if len(keys) == 0 {
		return nil
	}
	return v.push(func(w *proto.Writer) { texts(w, keys) })
}

// of returns the keys of events that the client is to be told of.
func (v *invalidating) of(events []watch.Event) (keys []string) {
	v.subs.mu.Lock()
	defer v.subs.mu.Unlock()
	for i := range events {
		e := &events[i]
		if e.Session == "" && v.wants(e.Key) && !slices.Contains(keys, e.Key) && v.subs.reader.may(e.Key) {
			keys = append(keys, e.Key)
		}
	}
	return keys
}

// all says that every key may have changed, and goes on from now, if err is that changes were lost.
func (v *invalidating) all(err error) error {
	if !errors.Is(err, watch.ErrLost) {
		return err
	}
	after, err := v.hub.Newest()
	if err != nil {
		return err
	}
	if v.cursor, err = v.hub.Cursor("", after); err != nil {
		return err
	}
	return v.push((*proto.Writer).Null)
}

func (v *invalidating) wants(key string) bool {
	return slices.ContainsFunc(v.prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

// push sends a message between the replies.
func (v *invalidating) push(what func(w *proto.Writer)) error {
	select {
	case v.turn <- struct{}{}:
	case <-v.stop:
		return nil // run sees it
	}
	defer func() { <-v.turn }()
	v.subs.mu.Lock()
	defer v.subs.mu.Unlock()
	v.out.V3 = true
	v.out.Push(2)
	v.out.Text("invalidate")
	what(&v.out)
	return sendAll(v.net, &v.out, v.timeout)
}
