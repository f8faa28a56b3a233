package web

import (
	"net/http"
	"strconv"
	"time"

	"tenure/api"
	"tenure/kv"
)

// kvGet reads one key, or lists (see listing.go). The index of one key is its ModifyIndex, or the store's revision if
// it is absent.
func (s *Server) kvGet(x *exchange) {
	key := keyOf(x.r)
	q, err := parseQuery(x.r.URL.RawQuery, &readRules)
	if err == nil {
		err = readRules.checkKey(key, &q)
	}
	switch {
	case err != nil:
		x.fail(err, false)
	case q.has(nRecurse | nKeys | nCount):
		s.list(x, key, &q)
	case q.blocks():
		s.awaitKey(x, key, q)
	default:
		e, found, meta, err := s.get(x, key, q.mode())
		s.answerKey(x, &q, &e, found, meta, err)
	}
}

func (s *Server) get(x *exchange, key string, mode Mode) (kv.Entry, bool, ReadMeta, error) {
	asked := time.Now()
	e, found, meta, err := s.backend.Get(s.patience(x.r), mode, key)
	s.metrics.backend[stageRead].Observe(time.Since(asked).Seconds())
	return e, found, meta, err
}

// awaitKey answers once the key has changed behind q.index.
func (s *Server) awaitKey(x *exchange, key string, q query) {
	w, err := s.cfg.Hub.Key(key)
	s.block(x, &q, w, err, func(must bool) bool {
		e, found, meta, err := s.get(x, key, q.mode())
		if err == nil && !found && !must {
			return s.sinceGone(x, key, &q)
		}
		if err == nil && !must && e.ModifyIndex <= q.index {
			return false
		}
		s.answerKey(x, &q, &e, found, meta, err)
		return true
	})
}

// sinceGone answers about a key that was just absent, if it was there behind q.index. The store's revision, which is
// the index of an absent key, moves with every other write too: those are no news.
func (s *Server) sinceGone(x *exchange, key string, q *query) bool {
	view, meta, err := s.snapshot(x, q.mode())
	if err != nil {
		x.fail(err, false)
		return true
	}
	defer view.Close()
	e, found, err := view.Get(key)
	newest := e.ModifyIndex
	if !found {
		newest = view.Deleted(key)
	}
	if err == nil && newest <= q.index {
		return false
	}
	meta.Revision = max(meta.Revision, view.Revision())
	s.answerKey(x, q, &e, found, meta, err)
	return true
}

func (s *Server) answerKey(x *exchange, q *query, e *kv.Entry, found bool, meta ReadMeta, err error) {
	switch {
	case err != nil:
		x.fail(err, false)
	case !found:
		x.absent(meta.Revision, meta)
	case q.has(nRaw):
		x.raw(e, meta)
	default:
		st := s.openStream(x, e.ModifyIndex, meta, q.has(nPretty))
		if st.entry(*e) {
			st.end()
		}
		s.closeStream(st, nil)
	}
}

// absent is 404 with an empty body: Consul's clients tell a missing key by it.
func (x *exchange) absent(index uint64, meta ReadMeta) {
	setReadMeta(x.w.Header(), index, meta)
	x.fails(http.StatusNotFound, api.CodeNotFound)
}

// raw answers with the bytes alone. They are somebody's data on the API's own origin: no browser may take them for a
// page or a script.
func (x *exchange) raw(e *kv.Entry, meta ReadMeta) {
	h := x.w.Header()
	setReadMeta(h, e.ModifyIndex, meta)
	h["Content-Type"] = bytesType
	h["X-Content-Type-Options"] = noSniff
	h["Content-Security-Policy"] = sandbox
	h["Content-Length"] = []string{strconv.Itoa(len(e.Value))}
	x.status = http.StatusOK
	_, _ = x.w.Write(e.Value) // a client that went away learns nothing
}
