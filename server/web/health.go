package web

import (
	"net/http"

	"tenure/api"
)

// healthLive says that the process answers, whatever state the cluster is in: restarting a node that only lacks a
// master would not help.
func (s *Server) healthLive(x *exchange) {
	if x.probed() {
		x.say("live")
	}
}

// probed reports whether the query is empty, as it must be, and refuses any other.
func (x *exchange) probed() bool {
	_, err := parseQuery(x.r.URL.RawQuery, &probeRules)
	if err != nil {
		x.fail(err, false)
	}
	return err == nil
}

// healthReady says whether requests are best sent here now: the node knows a master that is ready, and is caught up.
func (s *Server) healthReady(x *exchange) {
	if !x.probed() {
		return
	}
	if err := s.backend.Ready(); err != nil {
		x.w.Header()[api.HeaderRetryAfter] = retryLater
		x.refuse(http.StatusServiceUnavailable, api.CodeNotReady, "not ready: "+err.Error())
		return
	}
	text := "ready"
	if full := s.backend.Full(); full != "" {
		text += "; " + full
	}
	x.say(text)
}
