package web

import (
	"encoding/json"
	"time"

	"tenure/server/service"
)

// statusHandler answers requests about the node and its peers.
type statusHandler struct {
	cluster service.Cluster
}

// show answers with the node's view of itself.
func (h *statusHandler) show(x *exchange) error {
	return x.shown(&plainRules, func() any {
		st := h.cluster.Status()
		// A node that waits for its cluster has none of these, and null is no list.
		st.Peers, st.Full = orEmpty(st.Peers), orEmpty(st.Full)
		st.Lease.Changes = orEmpty(st.Lease.Changes)
		return st
	})
}

// orEmpty returns list, or an empty one for nil.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// history answers with how busy the node was in the last minutes.
func (h *statusHandler) history(x *exchange) error {
	return x.shown(&plainRules, func() any { return h.cluster.History() })
}

// reports answers with what each member says of itself.
func (h *statusHandler) reports(x *exchange) error {
	return x.shown(&plainRules, func() any {
		began := time.Now()
		defer func() { x.waited += time.Since(began) }() // for others: a member that hangs makes no slow request here
		return h.cluster.Reports()
	})
}

// leader answers with the master's peer address as a JSON string, empty if none is known.
func (h *statusHandler) leader(x *exchange) error {
	return x.shown(&consulRules, func() any { return h.cluster.Leader() })
}

// peers answers with the members' peer addresses.
func (h *statusHandler) peers(x *exchange) error {
	return x.shown(&consulRules, func() any { return append([]string{}, h.cluster.Peers()...) })
}

// shown answers a read that has no query names of its own with v, one of our own plain types, as JSON.
func (x *exchange) shown(rules *rules, v func() any) error {
	q, err := parseQuery(x.r.URL.RawQuery, rules)
	if err != nil {
		return err
	}
	x.pretty(&q, v())
	return nil
}

// pretty answers 200 with v, one of our own plain types, as JSON that is indented if q asks for that.
func (x *exchange) pretty(q *query, v any) {
	if !q.has(nPretty) {
		x.marshalled(v)
		return
	}
	b, err := json.MarshalIndent(v, "", "    ")
	if err != nil {
		panic(err)
	}
	x.json(append(b, '\n'))
}
