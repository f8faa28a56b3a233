package web

import (
	"tenure/api"
	"tenure/kv"
)

// fenceHandler answers requests about fences.
type fenceHandler struct {
	writes *writes
}

// get shows the largest token seen of a fence, or the floor of its kind: a smaller one is refused.
func (h *fenceHandler) get(x *exchange) error {
	name := x.behind(api.PathFence)
	q, err := parseQuery(x.r.URL.RawQuery, &fenceReadRules)
	if err == nil {
		err = checkFence(name)
	}
	if err == nil {
		err = x.req.NeedFence(name)
	}
	if err != nil {
		return err
	}
	view, meta, err := readView(x, q.mode())
	if err != nil {
		return err
	}
	defer view.Close()
	token, known := view.Fence(name)
	setReadMeta(x.w.Header(), meta.Revision, meta)
	x.marshalled(api.Fence{Name: name, Token: token, Floor: !known})
	return nil
}

// drop makes the store forget a fence, for the space that it takes. Its token stays the floor of every fence of its
// kind that is not kept, so that no old token of the dropped one passes again. With ?floor that becomes the floor.
func (h *fenceHandler) drop(x *exchange) error {
	c := kv.Command{Op: kv.OpDropFence}
	q, err := parseQuery(x.r.URL.RawQuery, &fenceDropRules)
	if err == nil {
		err = h.writes.identify(x.r.Header, &c)
	}
	if err != nil {
		return err
	}
	c.HasIndex, c.Index = q.has(nFloor), q.floor
	c.Fence = x.behind(api.PathFence)
	if err := checkFence(c.Fence); err != nil {
		return err
	}
	return h.writes.run(x, c)
}
