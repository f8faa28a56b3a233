package web

import (
	"net/http"
	"strconv"
	"time"

	"tenure/api"
)

// timeouts bound parts of a request; see Config.
type timeouts struct {
	client   time.Duration // what the node may take
	response time.Duration // from the headers of the request to the last byte of the answer
	stall    time.Duration // for a client to take a piece of a listing
}

func timeoutsOf(cfg Config) timeouts {
	return timeouts{client: cfg.ClientTimeout, response: cfg.ResponseTimeout, stall: cfg.ListTimeout}
}

// of returns how long the node may take over r: the node's own limit, or less if the client says that it will not
// wait so long. A client that is told "not applied" in time knows more than one that hangs up.
func (t timeouts) of(r *http.Request) time.Duration {
	if v := r.Header[api.HeaderTimeoutMS]; len(v) == 1 {
		if ms, err := strconv.ParseUint(v[0], 10, 31); err == nil && ms > 0 {
			return min(t.client, time.Duration(ms)*time.Millisecond)
		}
	}
	return t.client
}

// timeout returns how long the node may take over x.
func (x *exchange) timeout() time.Duration { return x.timeouts.of(x.r) }

// extend moves the end of the answer to x by a wait that is about to begin.
func (x *exchange) extend(wait time.Duration) {
	// An error: a test's ResponseWriter that has no deadlines.
	_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(wait + x.timeouts.response))
}
