package web

import (
	"tenure/api"
	"tenure/kv"
)

// fenceGet shows the largest token seen of a fence, or the floor of its kind: a smaller one is refused.
func (s *Server) fenceGet(x *exchange) {
	name := x.rest(api.PathFence)
	q, err := parseQuery(x.r.URL.RawQuery, &fenceReadRules)
	if err == nil {
		err = checkFence(name)
	}
	if err != nil {
		x.fail(err, false)
		return
	}
	view, meta, err := s.snapshot(x, q.mode())
	if err != nil {
		x.fail(err, false)
		return
	}
	defer view.Close()
	token, known := view.Fence(name)
	meta.Revision = max(meta.Revision, view.Revision())
	setReadMeta(x.w.Header(), meta.Revision, meta)
	x.json(marshal(api.Fence{Name: name, Token: token, Floor: !known}))
}

// fenceDrop makes the store forget a fence, for the space that it takes. Its token stays the floor of every fence of
// its kind that is not kept, so that no old token of the dropped one passes again.
func (s *Server) fenceDrop(x *exchange) {
	name := x.rest(api.PathFence)
	c, ok := s.plainCommand(x, &plainWriteRules, kv.OpDropFence)
	if !ok {
		return
	}
	if err := checkFence(name); err != nil {
		x.fail(err, false)
		return
	}
	c.Fence = name
	s.write(x, c)
}
