package resp

import (
	"errors"
	"strconv"

	"tenure/api"
	"tenure/server/watch"
)

// watchPrefix is TENURE.WATCH PREFIX REVISION: from now on the connection is told, without a gap, of every change after
// REVISION of keys that begin with PREFIX. It ends with the connection.
func watchPrefix(c *conn, args [][]byte) {
	prefix := string(args[1])
	after, err := strconv.ParseUint(string(args[2]), 10, 63)
	switch {
	case err != nil:
		c.fail("ERR the revision of TENURE.WATCH is a number, from 0 up: see TENURE.REVISION")
		return
	case len(prefix) > api.MaxKeyBytes:
		c.fail("ERR the prefix of TENURE.WATCH has at most " + strconv.Itoa(api.MaxKeyBytes) + " bytes")
		return
	case c.subs.watching:
		c.fail("ERR this connection watches a prefix already: use another connection")
		return
	}
	if err := c.to.needSome(prefix); err != nil {
		c.fail(errorText(err))
		return
	}
	if refusal := c.ofAnotherStore(after); refusal != "" {
		c.fail(refusal)
		return
	}
	n, err := c.subs.notifier(prefix, after)
	switch {
	case errors.Is(err, watch.ErrLost):
		c.fail("LOST the history of this node does not reach back to revision " + string(args[2]) + beginAnew)
		return
	case err != nil:
		c.fail(errorText(notApplied(err)))
		return
	}
	w := &watching{notifier: n, prefix: prefix}
	n.tell, n.idle = w.changes, w.position
	c.subs.mu.Lock()
	c.out.Push(3)
	c.out.Text("tenure.watch")
	c.out.Text(prefix)
	c.out.Int(int64(after))
	c.out.sendNow()
	c.subs.watching = true
	c.subs.mu.Unlock()
	c.subs.going.Go(n.run)
}

// beginAnew is what a client does that cannot watch from where it was.
const beginAnew = ": ask for TENURE.REVISION, then read the keys anew, then watch from that revision"

// ofAnotherStore returns why nobody can watch from a revision that this store has not reached, as over HTTP: another
// store has given it, and to wait for it would hide every change until then. A revision that is only ahead of this node
// is no reason.
func (c *conn) ofAnotherStore(after uint64) (refusal string) {
	if applied, err := c.cfg.Hub.Newest(); err == nil && after <= applied {
		return ""
	}
	switch newest, err := c.to.Revision(); {
	case err != nil:
		return errorText(err)
	case after > newest:
		return "LOST revision " + strconv.FormatUint(after, 10) + " is above that of this store, so it is of another one" +
			beginAnew
	}
	return ""
}

// errWatchDenied: the client may read nothing of what it watches any more.
var errWatchDenied = errors.New("the permission for what is watched was taken away")

// watching is what a notifier does for TENURE.WATCH.
type watching struct {
	*notifier
	prefix string
}

// changes sends every event, with its value and revision.
func (w *watching) changes(events []watch.Event) error {
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock()
	if !w.subs.reader.maySome(w.prefix) {
		return errWatchDenied
	}
	w.out.V3 = w.subs.v3
	for i := range events {
		e := &events[i]
		if e.Session != "" || !w.subs.reader.may(e.Key) { // position tells how far it has come
			continue
		}
		w.out.Push(6)
		w.out.Text("tenure.change")
		w.out.Text(eventName(e))
		w.out.Text(e.Key)
		if e.Entry == nil {
			w.out.Null()
		} else {
			w.out.Bulk(e.Entry.Value)
		}
		w.out.Int(int64(e.Revision))
		if e.Whole { // the next watch may begin behind it
			w.out.Int(1)
		} else {
			w.out.Int(0)
		}
		if w.out.Len() < sendBytes {
			continue
		}
		if err := sendAll(w.net, &w.out, w.timeout); err != nil {
			return err
		}
	}
	return sendAll(w.net, &w.out, w.timeout)
}

// position says how far the client has come, also while nothing changes under its prefix: the next watch may begin
// there.
func (w *watching) position() error {
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock()
	w.out.V3 = w.subs.v3
	w.passed(w.cursor.Passed())
	return sendAll(w.net, &w.out, w.timeout)
}

// passed adds the message that every change up to a revision was told.
func (w *watching) passed(revision uint64) {
	w.out.Push(3)
	w.out.Text("tenure.passed")
	w.out.Text(w.prefix)
	w.out.Int(int64(revision))
}
