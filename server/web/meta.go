package web

import (
	"net/http"
	"strconv"
	"time"

	"tenure/api"
)

// setReadMeta sets the headers of a read, found or not. The index is never 0: a client that waits for an index above
// 0 would spin. The store's revision goes with every answer, as on writes: it is the base of a client's next write.
func setReadMeta(h http.Header, index uint64, m ReadMeta) {
	v := []string{strconv.FormatUint(max(index, 1), 10), "0", "true", ""}
	v[3] = v[0]
	if m.Revision != max(index, 1) {
		v[3] = strconv.FormatUint(m.Revision, 10)
	}
	if ms := m.LastContact / time.Millisecond; ms > 0 {
		v[1] = strconv.FormatInt(int64(ms), 10)
	}
	if !m.KnownLeader {
		v[2] = "false"
	}
	h[api.HeaderIndex] = v[0:1:1]
	h[api.HeaderLastContact] = v[1:2:2]
	h[api.HeaderKnownLeader] = v[2:3:3]
	h[api.HeaderRevision] = v[3:4:4]
}

// patience is how long the Backend may take over r: the node's own limit, or less if the client says that it will not
// wait so long. A client that is told "not applied" in time knows more than one that hangs up.
func (s *Server) patience(r *http.Request) time.Duration {
	if v := r.Header[api.HeaderTimeoutMS]; len(v) == 1 {
		if ms, err := strconv.ParseUint(v[0], 10, 31); err == nil && ms > 0 {
			return min(s.cfg.ClientTimeout, time.Duration(ms)*time.Millisecond)
		}
	}
	return s.cfg.ClientTimeout
}
