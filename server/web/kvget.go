package web

import (
	"net/http"
	"strconv"
	"time"

	"tenure/kv"
)

// kvGet reads one key, or lists (see listing.go). The index of one key is its ModifyIndex, or the store's if it is
// absent.
func (s *Server) kvGet(x *exchange) {
	key := keyOf(x.r)
	q, err := parseQuery(x.r.URL.RawQuery, &readRules)
	if err == nil {
		err = readRules.checkKey(key, &q)
	}
	if err != nil {
		x.fail(err, false)
		return
	}
	if q.has(nRecurse | nKeys | nCount) {
		s.list(x, key, &q)
		return
	}
	asked := time.Now()
	e, found, meta, err := s.backend.Get(s.patience(x.r), q.mode(), key)
	s.metrics.backend[stageRead].Observe(time.Since(asked).Seconds())
	switch {
	case err != nil:
		x.fail(err, false)
	case !found:
		x.absent(meta)
	case q.has(nRaw):
		x.raw(e, meta)
	default:
		st := openStream(x, e.ModifyIndex, meta, q.has(nPretty))
		if st.entry(e) {
			st.end()
		}
		s.closeStream(st, nil)
	}
}

// absent is 404 with an empty body: clients tell a missing key by it.
func (x *exchange) absent(meta ReadMeta) {
	h := x.w.Header()
	setReadMeta(h, meta.Revision, meta)
	x.code = http.StatusNotFound
	x.w.WriteHeader(x.code)
}

// raw answers with the bytes alone. They are somebody's data on the API's own origin: no browser may take them for a
// page or a script.
func (x *exchange) raw(e kv.Entry, meta ReadMeta) {
	h := x.w.Header()
	setReadMeta(h, e.ModifyIndex, meta)
	h["Content-Type"] = bytesType
	h["X-Content-Type-Options"] = noSniff
	h["Content-Security-Policy"] = sandbox
	h["Content-Length"] = []string{strconv.Itoa(len(e.Value))}
	x.code = http.StatusOK
	_, _ = x.w.Write(e.Value) // a client that went away learns nothing
}
