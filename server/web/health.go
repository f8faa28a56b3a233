package web

import (
	"net/http"

	"tenure/api"
)

// Health says how the node is.
type Health interface {
	// Ready returns nil if the node knows a master that is ready, and is caught up; else it says what is missing.
	Ready() error
	// Full says which members are short of space, as this node knows it, or is "".
	Full() string
}

// healthHandler answers those who watch over the node.
type healthHandler struct {
	node Health
}

// live says that the process answers, whatever state the cluster is in: restarting a node that only lacks a master
// would not help.
func (h *healthHandler) live(x *exchange) error {
	if _, err := parseQuery(x.r.URL.RawQuery, &probeRules); err != nil {
		return err
	}
	x.permit.needsNothing()
	x.text("live")
	return nil
}

// ready says whether requests are best sent here now: the node knows a master that is ready, and is caught up.
func (h *healthHandler) ready(x *exchange) error {
	if _, err := parseQuery(x.r.URL.RawQuery, &probeRules); err != nil {
		return err
	}
	x.permit.needsNothing()
	if err := h.node.Ready(); err != nil {
		return refuse(http.StatusServiceUnavailable, api.CodeNotReady, "not ready: "+err.Error())
	}
	text := "ready"
	if full := h.node.Full(); full != "" {
		text += "; " + full
	}
	x.text(text)
	return nil
}
