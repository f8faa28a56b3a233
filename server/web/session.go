package web

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// sessionHandler answers requests about sessions.
type sessionHandler struct {
	writes   *writes
	waits    *waits
	bodies   *bodies
	nodeName func() string // of sessions that name no node
	minTTL   time.Duration
}

// destroy ends a session; true also if there is none.
func (h *sessionHandler) destroy(x *exchange) error {
	c, err := h.writes.command(x, &consulWriteRules, kv.OpSessionDestroy)
	if err != nil {
		return err
	}
	id := x.behind(api.PathSessionDestroy)
	if c.Session.ID = strings.ToLower(id); kv.ValidateSessionID(c.Session.ID) != nil {
		return badSessionID(id)
	}
	there, err := x.req.MayEndSession(c.Session.ID)
	if err != nil {
		return err
	}
	if !there {
		h.writes.nothingToDo(x)
		x.json(bodyTrue)
		return nil
	}
	return h.writes.run(x, c)
}

// renew starts a session's TTL anew and shows the session. For a session that has ended it answers 404, with Consul's
// words.
func (h *sessionHandler) renew(x *exchange) error {
	c, err := h.writes.command(x, &consulWriteRules, kv.OpSessionRenew)
	if err != nil {
		return err
	}
	id := x.behind(api.PathSessionRenew)
	if id == "" {
		return badSessionID(id)
	}
	if c.Session.ID = strings.ToLower(id); kv.ValidateSessionID(c.Session.ID) != nil {
		return sessionGone(id)
	}
	there, err := x.req.MayEndSession(c.Session.ID)
	if err == nil && !there {
		err = sessionGone(id)
	}
	if err != nil {
		return err
	}
	res, err := h.writes.apply(x, &c)
	switch {
	case err != nil:
		return err
	case res.Code == kv.CodeNoSession:
		return sessionGone(id)
	case res.Code != kv.CodeDone:
		return service.NotDone(&c, &res)
	}
	return h.renewed(x, c.Session.ID)
}

// renewed shows a session that was just renewed. The shown fields never change, so they may come from this node's
// applied state. If the session is not there yet, this node asks the master.
func (h *sessionHandler) renewed(x *exchange, id string) error {
	e, found := x.req.Session(id)
	if !found {
		view, _, err := readView(x, service.Default)
		if err != nil {
			return service.AsUnknown(err, "the session was renewed, and this node cannot show it: renew it again")
		}
		e, found = view.Session(id)
		view.Close()
	}
	if !found {
		return sessionGone(id) // it has ended since
	}
	x.json(append(appendSession([]byte{'['}, &e, nil, false), ']'))
	return nil
}

func badSessionID(id string) error {
	if id == "" {
		return service.Invalid("Missing session: give its ID at the end of the path")
	}
	return service.Invalid("%.80q is not the ID of a session, which is a UUID", id)
}

func sessionGone(id string) error {
	return refuse(http.StatusNotFound, api.CodeNoSession, fmt.Sprintf("Session id '%.80s' not found", id))
}

// info shows one session, in a list that is empty if there is none.
func (h *sessionHandler) info(x *exchange) error {
	id := x.behind(api.PathSessionInfo)
	if id == "" {
		return badSessionID(id)
	}
	return h.read(x, (*service.Request).NeedSomeSession, func(view *kv.Snapshot, show func(kv.Session) bool) {
		if e, ok := view.Session(strings.ToLower(id)); ok {
			show(e)
		}
	})
}

// ofNode lists the sessions of a node: whatever their creators gave as one.
func (h *sessionHandler) ofNode(x *exchange) error {
	node := x.behind(api.PathSessionNode)
	if node == "" {
		return service.Invalid("Missing node name: give it at the end of the path")
	}
	return h.read(x, func(r *service.Request) error { return r.NeedSessionsOf(node) },
		func(view *kv.Snapshot, show func(kv.Session) bool) { view.Sessions(node, show) })
}

// list lists all sessions.
func (h *sessionHandler) list(x *exchange) error {
	return h.read(x, (*service.Request).NeedSomeSession,
		func(view *kv.Snapshot, show func(kv.Session) bool) { view.Sessions("", show) })
}

// chooser calls show with sessions of view until that returns false.
type chooser func(view *kv.Snapshot, show func(kv.Session) bool)

// hidesSessions reports whether the request may not read all that choose shows: of details, whether there may be a
// locked key that it may not read.
func (x *exchange) hidesSessions(view *kv.Snapshot, choose chooser, details bool) (hidden bool) {
	if !x.req.Decides() {
		return false
	}
	choose(view, func(e kv.Session) bool {
		hidden = !x.req.MaySessionsOf(e.Node) || details && !x.req.MayKeys("")
		return !hidden
	})
	return hidden
}

// read answers with those sessions that choose shows and x may read, and may block. It needs what need asks for. The
// index of all of them is that of the newest creation or end of any session.
func (h *sessionHandler) read(x *exchange, need func(*service.Request) error, choose chooser) error {
	q, err := parseQuery(x.r.URL.RawQuery, &sessionRules)
	if err == nil {
		err = need(&x.req)
	}
	if err != nil {
		return err
	}
	look := func(must bool) (bool, error) {
		view, meta, err := readView(x, q.mode())
		if err != nil {
			return false, err
		}
		defer view.Close()
		index := view.SessionsIndex()
		if !must && index <= q.index {
			return false, nil
		}
		list := newList(x, index, meta, q.has(nPretty))
		list.over = deadlineOf(x, view)
		show := list.session
		if q.has(nDetails) {
			show = func(e kv.Session) bool { return list.sessionDetails(&e, view) }
		}
		list.filtered = func() (bool, error) { return x.hidesSessions(view, choose, q.has(nDetails)), nil }
		choose(view, func(e kv.Session) bool { return !x.req.MaySessionsOf(e.Node) || show(e) })
		return true, list.end(nil)
	}
	if !q.blocks() {
		_, err := look(true)
		return err
	}
	w, err := h.waits.hub.Sessions()
	return h.waits.block(x, &q, w, err, look)
}
