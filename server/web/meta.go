package web

import (
	"net/http"
	"strconv"
	"time"
)

// Header names are in Go's canonical form, in which they are also sent: names of headers have no case.
const (
	headIndex       = "X-Consul-Index"
	headKnownLeader = "X-Consul-Knownleader"
	headLastContact = "X-Consul-Lastcontact"
	headRevision    = "X-Tenure-Index"
	headCount       = "X-Tenure-Count"
	headIdemKey     = "Idempotency-Key"
	headBase        = "X-Tenure-Base"
)

// setReadMeta sets the headers of a read, found or not. The index is never 0: a client that waits for an index above
// 0 would spin.
func setReadMeta(h http.Header, index uint64, m ReadMeta) {
	v := []string{strconv.FormatUint(max(index, 1), 10), "0", "true"}
	if ms := m.LastContact / time.Millisecond; ms > 0 {
		v[1] = strconv.FormatInt(int64(ms), 10)
	}
	if !m.KnownLeader {
		v[2] = "false"
	}
	h[headIndex] = v[0:1:1]
	h[headLastContact] = v[1:2:2]
	h[headKnownLeader] = v[2:3:3]
}
