package web

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"tenure/kv"
)

// list answers `recurse` (entries), `keys` (names) and `count` (a JSON number) for the keys that start with prefix,
// all from one snapshot.
//
// The index is of the whole prefix, whichever page is shown: the newest ModifyIndex or deletion under it. Where no key
// is, it is the store's revision. It never falls: what is written where nothing was gets a revision above that, and
// what is deleted has its own.
//
// Pages. Keys come in the order of their bytes, or in falling order with `reverse`. `start` is the first name to be
// listed, itself included, in the direction of the listing; it need not exist, nor start with prefix. `limit` is how
// many at most. With `separator`, a name is a key cut after the first separator behind prefix, and `start` and
// `limit` are of names. To read page after page of n, ask for limit n+1 and start the next page with the last name
// got. A page that holds nothing is a 404, as is a listing (`[]` for the keys of the empty prefix); a count is never
// 404.
func (s *Server) list(x *exchange, prefix string, q *query) {
	l := listing{s: s, x: x, prefix: prefix, q: *q}
	if !q.blocks() {
		l.look(true)
		return
	}
	w, err := s.cfg.Hub.Prefix(prefix)
	s.block(x, &l.q, w, err, l.look)
}

// listing is one request for a list, which may look more than once.
type listing struct {
	s      *Server
	x      *exchange
	prefix string
	q      query
	meta   ReadMeta
	index  uint64
	n      int // keys under the prefix
}

// look takes a snapshot and answers from it, if it must or if there is news.
func (l *listing) look(must bool) bool {
	view, meta, err := l.s.snapshot(l.x, l.q.mode())
	if err != nil {
		l.x.fail(err, false)
		return true
	}
	defer view.Close()
	l.meta, l.index = meta, 0
	l.meta.Revision = max(meta.Revision, view.Revision())
	over := l.s.listingOver(l.x, time.Now())
	if !must || !l.indexAsItGoes() {
		news, err := l.measure(view, over)
		if err != nil {
			l.x.fail(err, false)
			return true
		}
		if !must && !news {
			return false
		}
	}
	l.answer(view, over)
	return true
}

// indexAsItGoes tells whether the listing passes every key of the prefix with its ModifyIndex anyway.
func (l *listing) indexAsItGoes() bool {
	return l.q.has(nRecurse) && !l.q.has(nStart|nLimit)
}

// measure finds the index, and whether it is news behind the one that the client has. Where no key is, only a deletion
// is news: the store's revision moves with every write elsewhere.
func (l *listing) measure(view *kv.Snapshot, over func() error) (news bool, err error) {
	newest, n, err := view.Newest(l.prefix, over)
	gone := view.Deleted(l.prefix)
	l.n = n
	l.index = max(newest, gone)
	news = !l.q.hasSeen(l.index)
	if n == 0 {
		l.index = l.meta.Revision
	}
	return news, err
}

func (l *listing) answer(view *kv.Snapshot, over func() error) {
	if l.q.has(nCount) {
		setReadMeta(l.x.w.Header(), l.index, l.meta)
		l.x.json(strconv.AppendInt(nil, int64(l.n), 10))
		return
	}
	r := kv.Range{Prefix: l.prefix, Start: l.q.start, Limit: l.q.limit, Reverse: l.q.has(nReverse), Cancel: over}
	st := l.s.openStream(l.x, l.index, l.meta, l.q.has(nPretty))
	var err error
	if l.q.has(nKeys) {
		err = view.Keys(r, l.q.separator, st.key)
	} else {
		err = l.walk(view, r, st)
	}
	switch {
	case err != nil || st.failed:
	case st.n == 0 && !(l.q.has(nKeys) && l.prefix == ""):
		if st.index == 0 {
			st.index = l.meta.Revision
		}
		l.x.absent(st.index, l.meta)
	default:
		st.end()
	}
	l.s.closeStream(st, err)
}

// walk lists entries. If the index is not known yet, it is found on the way, and if the answer must be begun before the
// last key was seen, by going ahead.
func (l *listing) walk(view *kv.Snapshot, r kv.Range, st *stream) error {
	if l.index != 0 {
		return view.Walk(r, st.entry)
	}
	var newest uint64
	var failed error
	st.begin = func() bool {
		_, failed = l.measure(view, r.Cancel)
		st.index = l.index
		return failed == nil
	}
	err := view.Walk(r, func(e kv.Entry) bool {
		newest = max(newest, e.ModifyIndex)
		return st.entry(e)
	})
	if err == nil {
		err = failed
	}
	if st.begin = nil; st.n > 0 && !st.sent {
		st.index = max(newest, view.Deleted(l.prefix))
	}
	return err
}

func (s *Server) snapshot(x *exchange, mode Mode) (*kv.Snapshot, ReadMeta, error) {
	asked := time.Now()
	view, meta, err := s.backend.Snapshot(s.patience(x.r), mode)
	s.metrics.backend[stageSnapshot].Observe(time.Since(asked).Seconds())
	return view, meta, err
}

var errListingTooLong = errors.New("the listing took too long: read it in pages, with `limit` and `start`")

// listingOver ends a listing whose client is gone, or that holds its snapshot for too long.
func (s *Server) listingOver(x *exchange, began time.Time) func() error {
	return func() error {
		if time.Since(began) > s.cfg.ResponseTimeout {
			return fmt.Errorf("%w: %w", ErrNotApplied, errListingTooLong)
		}
		return x.r.Context().Err()
	}
}

// closeStream ends a stream that came to err. If the answer has begun, cutting the connection tells the client that
// it is not whole.
func (s *Server) closeStream(st *stream, err error) {
	x, sent, failed := st.x, st.sent, st.failed
	st.release()
	switch {
	case sent && (err != nil || failed):
		panic(http.ErrAbortHandler)
	case err != nil:
		x.fail(err, false)
	}
}
