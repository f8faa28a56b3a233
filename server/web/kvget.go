package web

import (
	"net/http"

	"tenure/kv"
	"tenure/server/service"
)

// get reads one key, or lists (see kvlist.go). The index of one key is its ModifyIndex, or the store's revision if it
// is absent.
func (h *kvHandler) get(x *exchange) error {
	key := x.key()
	q, err := parseQuery(x.r.URL.RawQuery, &readRules)
	if err == nil {
		err = readRules.checkKey(key, &q)
	}
	if err == nil && !q.has(nRecurse|nKeys|nCount) {
		err = x.req.NeedKey(key)
	}
	if err != nil {
		return err
	}
	switch {
	case q.has(nRecurse | nKeys | nCount):
		return h.list(x, key, &q)
	case q.blocks():
		return h.awaitKey(x, key, q)
	}
	e, found, meta, err := readKey(x, key, q.mode())
	if err != nil {
		return err
	}
	return h.answerKey(x, &q, &e, found, meta)
}

// awaitKey answers once the key has changed behind q.index.
func (h *kvHandler) awaitKey(x *exchange, key string, q query) error {
	w, err := h.waits.hub.Key(key)
	return h.waits.block(x, &q, w, err, func(must bool) (bool, error) {
		e, found, meta, err := readKey(x, key, q.mode())
		switch {
		case err != nil:
			return false, err
		case !must && (!found || e.ModifyIndex < q.index):
			return h.answerOlder(x, key, &q)
		case !must && e.ModifyIndex == q.index:
			return false, nil
		}
		return true, h.answerKey(x, &q, &e, found, meta)
	})
}

// answerOlder answers about a key that was just absent, or not changed behind q.index, if that is news.
//
// An absent key is, if it was there behind q.index. The store's revision, which is the index of an absent key, moves
// with every other write too: those are no news.
//
// A key is whose ModifyIndex is below q.index, if q.index may be from a history that a restore has cut off. There the
// key may have had that very ModifyIndex. The answer has the lower index, behind which the next query waits.
func (h *kvHandler) answerOlder(x *exchange, key string, q *query) (answered bool, err error) {
	view, meta, err := readView(x, q.mode())
	if err != nil {
		return false, err
	}
	defer view.Close()
	e, found, err := view.Get(key)
	if err != nil {
		return false, err
	}
	newest := e.ModifyIndex
	switch {
	case !found:
		newest = view.Deleted(key)
	case e.ModifyIndex < q.index:
		newest = view.Compacted()
	}
	if newest <= q.index {
		return false, nil
	}
	return true, h.answerKey(x, q, &e, found, meta)
}

func (h *kvHandler) answerKey(x *exchange, q *query, e *kv.Entry, found bool, meta service.ReadMeta) error {
	switch {
	case !found:
		x.absent(meta.Revision, meta)
	case q.has(nRaw):
		return x.raw(e, meta)
	default:
		list := newList(x, e.ModifyIndex, meta, q.has(nPretty))
		list.entry(*e)
		return list.end(nil)
	}
	return nil
}

// raw answers with the bytes alone. They are somebody's data on the API's own origin: no browser may take them for a
// page or a script.
func (x *exchange) raw(e *kv.Entry, meta service.ReadMeta) error {
	taken, err := x.req.Bounds.Answer(len(e.Value))
	if err != nil {
		return err
	}
	defer taken()
	h := x.w.Header()
	setReadMeta(h, e.ModifyIndex, meta)
	h["X-Content-Type-Options"] = noSniff
	h["Content-Security-Policy"] = sandbox
	x.send(http.StatusOK, "", bytesType, e.Value)
	return nil
}
