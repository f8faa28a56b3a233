package web

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"tenure/api"
	"tenure/kv"
)

// sessionHandler answers requests about sessions.
type sessionHandler struct {
	reads    *reads
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
	return h.writes.run(x, c)
}

// renew starts a session's TTL anew and shows the session. Of one that has ended it says 404, with Consul's words.
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
	res, err := h.writes.apply(x, &c)
	switch {
	case err != nil:
		return err
	case res.Code == kv.CodeNoSession:
		return sessionGone(id)
	case res.Code != kv.CodeDone:
		return notDone(&c, &res)
	}
	return h.renewed(x, c.Session.ID)
}

// renewed shows a session that was just renewed. Nothing of it that is shown changes in its life, so it may come from
// what this node has applied. If it is not there yet, the master is asked.
func (h *sessionHandler) renewed(x *exchange, id string) error {
	e, found := h.reads.local.Session(id)
	if !found {
		view, _, err := h.reads.snapshot(x, Default)
		if err != nil {
			return inDoubt(err)
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

func badSessionID(id string) *refusal {
	if id == "" {
		return badRequest("Missing session: give its ID at the end of the path")
	}
	return badRequest("%.80q is not the ID of a session, which is a UUID", id)
}

func sessionGone(id string) *refusal {
	return refuse(http.StatusNotFound, api.CodeNoSession, fmt.Sprintf("Session id '%.80s' not found", id))
}

// info shows one session, in a list that is empty if there is none.
func (h *sessionHandler) info(x *exchange) error {
	id := x.behind(api.PathSessionInfo)
	if id == "" {
		return badSessionID(id)
	}
	return h.read(x, func(view *kv.Snapshot, show func(kv.Session) bool) {
		if e, ok := view.Session(strings.ToLower(id)); ok {
			show(e)
		}
	})
}

// ofNode lists the sessions of a node: whatever their creators gave as one.
func (h *sessionHandler) ofNode(x *exchange) error {
	node := x.behind(api.PathSessionNode)
	if node == "" {
		return badRequest("Missing node name: give it at the end of the path")
	}
	return h.read(x, func(view *kv.Snapshot, show func(kv.Session) bool) { view.Sessions(node, show) })
}

// list lists all sessions.
func (h *sessionHandler) list(x *exchange) error {
	return h.read(x, func(view *kv.Snapshot, show func(kv.Session) bool) { view.Sessions("", show) })
}

// read answers with the sessions that choose shows, and may block. The index of all of them is that of the newest
// creation or end of any session.
func (h *sessionHandler) read(x *exchange, choose func(view *kv.Snapshot, show func(kv.Session) bool)) error {
	q, err := parseQuery(x.r.URL.RawQuery, &sessionRules)
	if err != nil {
		return err
	}
	look := func(must bool) (bool, error) {
		view, meta, err := h.reads.snapshot(x, q.mode())
		if err != nil {
			return false, err
		}
		defer view.Close()
		index := view.SessionsIndex()
		if !must && index <= q.index {
			return false, nil
		}
		list := h.reads.newList(x, index, meta, q.has(nPretty))
		show := list.session
		if q.has(nDetails) {
			show = func(e kv.Session) bool { return list.sessionDetails(&e, view) }
		}
		choose(view, show)
		return true, list.end(nil)
	}
	if !q.blocks() {
		_, err := look(true)
		return err
	}
	w, err := h.waits.hub.Sessions()
	return h.waits.block(x, &q, w, err, look)
}
