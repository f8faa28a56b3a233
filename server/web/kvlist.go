package web

import (
	"strconv"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// list answers `recurse` (entries), `keys` (names) and `count` (a JSON number) for the keys that start with prefix,
// all from one snapshot.
//
// The index is that of the whole prefix, for every page: the newest ModifyIndex or deletion under it. For a prefix
// without keys it is the store's revision. It never falls: the first key under an empty prefix gets a revision above
// that, and a deletion has a revision of its own.
//
// Pages. Keys come in the order of their bytes, or in falling order with `reverse`. `start` is the first name to be
// listed, itself included, in the direction of the listing; it need not exist, nor start with prefix. `limit` is how
// many at most. With `separator`, a name is a key cut after the first separator behind prefix, and `start` and
// `limit` are of names. To read page after page of n, ask for limit n+1 and start the next page with the last name got.
// Keys that x may not read are in no page and no count; only the index is of all keys. An empty page or listing is a
// 404 (`[]` for the keys of the empty prefix); a count is never 404.
func (h *kvHandler) list(x *exchange, prefix string, q *query) error {
	if err := x.req.NeedSomeKey(prefix); err != nil {
		return err
	}
	if q.has(nDetails) && q.limit > api.MaxKeyDetails {
		return service.Invalid("`details` lists at most %d names: ask for no more with `limit`", api.MaxKeyDetails)
	}
	l := listing{x: x, prefix: prefix, q: *q}
	if !q.blocks() {
		_, err := l.look(true)
		return err
	}
	w, err := h.waits.hub.Prefix(prefix)
	return h.waits.block(x, &l.q, w, err, l.look)
}

// listing is one request for a list, which may look more than once.
type listing struct {
	x      *exchange
	prefix string
	q      query
	meta   service.ReadMeta
	index  uint64 // 0: not known yet
	n      int    // keys under the prefix that may be read
	filter filter
}

// look takes a snapshot and answers from it, if it must or if there is news.
func (l *listing) look(must bool) (answered bool, err error) {
	view, meta, err := readView(l.x, l.q.mode())
	if err != nil {
		return false, err
	}
	defer view.Close()
	l.meta, l.index, l.filter = meta, 0, filterOf(&l.x.req, l.prefix)
	over := deadlineOf(l.x, view)
	if !must || !l.findsIndex() {
		news, err := l.measure(view, over)
		if err != nil || !must && !news {
			return false, err
		}
	}
	return true, l.answer(view, over)
}

// findsIndex reports whether the listing passes every key of the prefix with its ModifyIndex anyway.
func (l *listing) findsIndex() bool { return l.q.has(nRecurse) && !l.q.has(nStart|nLimit) }

// measure finds the index, and reports whether it is news behind the one that the client has. Where no key is, only a
// deletion is news: the store's revision moves with every write elsewhere.
func (l *listing) measure(view *kv.Snapshot, over func() error) (news bool, err error) {
	newest, n, err := view.Newest(l.prefix, over)
	if l.n = n; err == nil && l.filter.on {
		l.n, err = view.Count(kv.Range{Prefix: l.prefix, Cancel: over, Keep: l.filter.keep})
	}
	l.index = max(newest, view.Deleted(l.prefix))
	news = l.index > l.q.index
	if n == 0 {
		l.index = l.meta.Revision
	}
	return news, err
}

func (l *listing) answer(view *kv.Snapshot, over func() error) error {
	if l.q.has(nCount) {
		setReadMeta(l.x.w.Header(), l.index, l.meta)
		l.filter.tell(l.x.w.Header())
		l.x.json(strconv.AppendInt(nil, int64(l.n), 10))
		return nil
	}
	r := kv.Range{Prefix: l.prefix, Start: l.q.start, Limit: l.q.limit, Reverse: l.q.has(nReverse), Cancel: over}
	list := newList(l.x, l.index, l.meta, l.q.has(nPretty))
	list.over = over
	if l.filter.on {
		r.Keep = l.filter.keep
		list.filtered = func() (bool, error) { return l.filter.hides(view, l.prefix, over) }
	}
	var err error
	if l.q.has(nDetails) {
		err = l.details(view, r, list)
	} else if l.q.has(nKeys) {
		err = view.Keys(r, l.q.separator, list.key)
	} else {
		err = l.walk(view, r, list)
	}
	if err == nil && list.n == 0 && !(l.q.has(nKeys) && l.prefix == "") {
		l.filter.tell(l.x.w.Header())
		l.x.absent(list.index, l.meta)
		list.release()
		return nil
	}
	return list.end(err)
}

// walk lists entries. If the index is not known yet, it is found on the way, and if the answer must be begun before the
// last key was seen, by going ahead.
func (l *listing) walk(view *kv.Snapshot, r kv.Range, list *jsonList) error {
	if l.index != 0 {
		return view.Walk(r, list.entry)
	}
	var newest uint64
	list.begin = func() error {
		_, err := l.measure(view, r.Cancel)
		list.index = l.index
		return err
	}
	err := view.Walk(r, func(e kv.Entry) bool {
		newest = max(newest, e.ModifyIndex)
		return list.entry(e)
	})
	if list.begin = nil; list.sent {
		return err
	}
	list.index = l.meta.Revision
	if list.n > 0 {
		list.index = max(newest, view.Deleted(l.prefix))
	}
	return err
}
