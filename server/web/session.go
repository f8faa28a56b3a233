package web

import (
	"fmt"
	"net/http"
	"strings"

	"tenure/api"
	"tenure/kv"
)

// sessionCreate makes a session. This node draws its ID; with an idempotency key the ID follows from that, so that a
// retry is the same command.
func (s *Server) sessionCreate(x *exchange) {
	c, ok := s.plainCommand(x, &consulWriteRules, kv.OpSessionCreate)
	if !ok {
		return
	}
	in := sessionBody{Node: s.nodeName(), LockDelay: defaultLockDelay}
	err := s.readJSON(x, maxSessionBytes, &in)
	if err == nil {
		err = s.describe(&in, &c.Session)
	}
	if err != nil {
		x.fail(err, false)
		return
	}
	c.Session.ID = sessionID(x.r.Header, &c)
	res, ok := s.apply(x, &c)
	switch {
	case !ok:
	case res.Code == kv.CodeDone:
		x.json([]byte(`{"ID":"` + c.Session.ID + `"}`))
	default:
		x.fail(refusedAtApply(&c, res.Code), true)
	}
}

// sessionDestroy ends a session; true also if there is none.
func (s *Server) sessionDestroy(x *exchange) {
	c, ok := s.plainCommand(x, &consulWriteRules, kv.OpSessionDestroy)
	if !ok {
		return
	}
	id := x.rest(api.PathSessionDestroy)
	if c.Session.ID = strings.ToLower(id); kv.ValidateSessionID(c.Session.ID) != nil {
		x.fail(badSessionID(id), false)
		return
	}
	s.write(x, c)
}

func badSessionID(id string) *refusal {
	if id == "" {
		return badRequest("Missing session: give its ID at the end of the path")
	}
	return badRequest("%.80q is not the ID of a session, which is a UUID", id)
}

// sessionRenew starts a session's TTL anew and shows the session. Of one that has ended it says 404, with Consul's
// words.
func (s *Server) sessionRenew(x *exchange) {
	c, ok := s.plainCommand(x, &consulWriteRules, kv.OpSessionRenew)
	if !ok {
		return
	}
	id := x.rest(api.PathSessionRenew)
	c.Session.ID = strings.ToLower(id)
	if id == "" {
		x.fail(badSessionID(id), false)
		return
	}
	if kv.ValidateSessionID(c.Session.ID) != nil {
		x.fail(sessionGone(id), false)
		return
	}
	res, ok := s.apply(x, &c)
	switch {
	case !ok:
	case res.Code == kv.CodeNoSession:
		x.fail(sessionGone(id), false)
	case res.Code != kv.CodeDone:
		x.fail(refusedAtApply(&c, res.Code), true)
	default:
		s.renewed(x, c.Session.ID)
	}
}

func sessionGone(id string) *refusal {
	return refusalOf(http.StatusNotFound, api.CodeNoSession, fmt.Sprintf("Session id '%.80s' not found", id))
}

// renewed shows a session that was just renewed. Nothing of it that is shown changes in its life, so it may come from
// what this node has applied. If it is not there yet, the master is asked.
func (s *Server) renewed(x *exchange, id string) {
	e, found := s.backend.Session(id)
	if !found {
		view, _, err := s.snapshot(x, Default)
		if err != nil {
			x.fail(err, true)
			return
		}
		e, found = view.Session(id)
		view.Close()
	}
	if !found {
		x.fail(sessionGone(id), false) // it has ended since
		return
	}
	x.json(append(appendSession([]byte{'['}, &e, nil, false), ']'))
}

// plainCommand is what writes that name no key have in common.
func (s *Server) plainCommand(x *exchange, rules *rules, op kv.Op) (kv.Command, bool) {
	_, err := parseQuery(x.r.URL.RawQuery, rules)
	c := kv.Command{Op: op}
	if err == nil {
		err = s.onceOnly(x.r.Header, &c)
	}
	if err != nil {
		x.fail(err, false)
	}
	return c, err == nil
}

// sessionInfo shows one session, in a list that is empty if there is none.
func (s *Server) sessionInfo(x *exchange) {
	id := x.rest(api.PathSessionInfo)
	if id == "" {
		x.fail(badSessionID(id), false)
		return
	}
	s.sessions(x, func(view *kv.Snapshot, show func(kv.Session) bool) {
		if e, ok := view.Session(strings.ToLower(id)); ok {
			show(e)
		}
	})
}

// sessionNode lists the sessions of a node: whatever their creators gave as one.
func (s *Server) sessionNode(x *exchange) {
	node := x.rest(api.PathSessionNode)
	if node == "" {
		x.fail(badRequest("Missing node name: give it at the end of the path"), false)
		return
	}
	s.sessions(x, func(view *kv.Snapshot, show func(kv.Session) bool) { view.Sessions(node, show) })
}

// sessionList lists all sessions.
func (s *Server) sessionList(x *exchange) {
	s.sessions(x, func(view *kv.Snapshot, show func(kv.Session) bool) { view.Sessions("", show) })
}

// sessions answers a read of sessions, which may block. The index of all of them is that of the newest creation or end
// of any session.
func (s *Server) sessions(x *exchange, list func(*kv.Snapshot, func(kv.Session) bool)) {
	q, err := parseQuery(x.r.URL.RawQuery, &sessionRules)
	if err != nil {
		x.fail(err, false)
		return
	}
	look := func(must bool) bool {
		view, meta, err := s.snapshot(x, q.mode())
		if err != nil {
			x.fail(err, false)
			return true
		}
		defer view.Close()
		index := view.SessionsIndex()
		if !must && index <= q.index {
			return false
		}
		meta.Revision = max(meta.Revision, view.Revision())
		st := s.openStream(x, index, meta, q.has(nPretty))
		show := st.session
		if q.has(nDetails) {
			show = func(e kv.Session) bool { return st.sessionDetails(&e, view) }
		}
		list(view, show)
		if !st.failed {
			st.end()
		}
		s.closeStream(st, nil)
		return true
	}
	if !q.blocks() {
		look(true)
		return
	}
	w, err := s.cfg.Hub.Sessions()
	s.block(x, &q, w, err, look)
}
