package web

import "net/http"

// healthLive says that the process answers, whatever state the cluster is in: restarting a node that only lacks a
// master would not help.
func (s *Server) healthLive(x *exchange) { x.text(http.StatusOK, "live") }

// healthReady says whether requests are best sent here now: the node knows a master that is ready, and is caught up.
func (s *Server) healthReady(x *exchange) {
	if err := s.backend.Ready(); err != nil {
		x.w.Header()["Retry-After"] = retryLater
		x.text(http.StatusServiceUnavailable, "not ready: "+err.Error())
		return
	}
	x.text(http.StatusOK, "ready")
}
