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
// all from one snapshot. X-Consul-Index is the store's revision, so it also grows when something else is written, and
// with every deletion.
//
// Pages. Keys come in the order of their bytes, or in falling order with `reverse`. `start` is the first name to be
// listed, itself included, in the direction of the listing; it need not exist, nor start with prefix. `limit` is how
// many at most. With `separator`, a name is a key cut after the first separator behind prefix, and `start` and
// `limit` are of names. To read page after page of n, ask for limit n+1 and start the next page with the last name
// got. A page that holds nothing is a 404, as is a listing (`[]` for the keys of the empty prefix); a count is never
// 404.
func (s *Server) list(x *exchange, prefix string, q *query) {
	view, meta, err := s.snapshot(x, q.mode())
	if err != nil {
		x.fail(err, false)
		return
	}
	defer view.Close()
	r := kv.Range{Prefix: prefix, Start: q.start, Limit: q.limit, Reverse: q.has(nReverse), Cancel: s.listingOver(x)}
	index := max(meta.Revision, view.Revision())
	if q.has(nCount) {
		s.count(x, view, r, index, meta)
		return
	}
	st := openStream(x, index, meta, q.has(nPretty))
	if q.has(nKeys) {
		err = view.Keys(r, q.separator, st.key)
	} else {
		err = view.Walk(r, st.entry)
	}
	switch {
	case err != nil || st.failed:
	case st.n == 0 && !(q.has(nKeys) && prefix == ""):
		x.absent(ReadMeta{Revision: index, LastContact: meta.LastContact, KnownLeader: meta.KnownLeader})
	default:
		st.end()
	}
	s.closeStream(st, err)
}

func (s *Server) snapshot(x *exchange, mode Mode) (*kv.Snapshot, ReadMeta, error) {
	asked := time.Now()
	view, meta, err := s.backend.Snapshot(s.patience(x.r), mode)
	s.metrics.backend[stageSnapshot].Observe(time.Since(asked).Seconds())
	return view, meta, err
}

var errListingTooLong = errors.New("the listing took too long: read it in pages, with `limit` and `start`")

// listingOver ends a listing whose client is gone, or that holds its snapshot for too long.
func (s *Server) listingOver(x *exchange) func() error {
	return func() error {
		if time.Since(x.began) > s.cfg.ResponseTimeout {
			return fmt.Errorf("%w: %w", ErrNotApplied, errListingTooLong)
		}
		return x.r.Context().Err()
	}
}

func (s *Server) count(x *exchange, view *kv.Snapshot, r kv.Range, index uint64, meta ReadMeta) {
	n, err := view.Count(r)
	if err != nil {
		x.fail(err, false)
		return
	}
	setReadMeta(x.w.Header(), index, meta)
	x.json(strconv.AppendInt(nil, int64(n), 10))
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
