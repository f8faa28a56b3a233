package web

import (
	"tenure/api"
	"tenure/server/service"
)

// healthHandler answers those who watch over the node.
type healthHandler struct {
	node service.Health
}

// live says that the process answers, whatever state the cluster is in: restarting a node that only lacks a master
// would not help.
func (h *healthHandler) live(x *exchange) error {
	if _, err := parseQuery(x.r.URL.RawQuery, &probeRules); err != nil {
		return err
	}
	x.text("live")
	return nil
}

// ready says whether requests are best sent here now: the node knows a master that is ready, and is caught up.
func (h *healthHandler) ready(x *exchange) error {
	if _, err := parseQuery(x.r.URL.RawQuery, &probeRules); err != nil {
		return err
	}
	if err := h.node.Ready(); err != nil {
		return service.Refuse(api.CodeNotReady, "not ready: "+err.Error())
	}
	text := "ready"
	if full := h.node.Full(); full != "" {
		text += "; " + full
	}
	x.text(text)
	return nil
}
