// Package leasehold is the owner's end of a named lease (N1 and the last sentence of N2): what a client may believe of
// an acquisition. An owner that believes only what this package reports never shares a name with another owner.
//
// It is pure and plain data: `now` is a reading of the client's own elapsed clock, which includes suspend. Not safe for
// concurrent use.
package leasehold

import "time"

// Hold is one acquisition of one name, from the first request to the release. The zero value owns nothing yet. An
// acquisition is never used again after its release: the next one needs a new id, and a new Hold.
type Hold struct {
	deadline time.Duration
	moved    time.Duration // when the grant came that the deadline is of
	token    uint64
	granted  bool // some grant has counted
	released bool
}

// Reply is what a node has granted.
type Reply struct {
	Asked   time.Duration // reading of the clock *before* the request that it answers was sent
	TTL     time.Duration // as asked for
	Token   uint64
	Renewal bool // the request was to renew
}

// Take takes a grant that arrives at now, and reports whether it counts. A grant is void after the release (N1). The
// grant of a renewal is void at or after the deadline, since everything done after the deadline was done without the
// lease. The deadline counts from before the request and never moves back, and the token is the largest that was seen
// (N2).
func (h *Hold) Take(now time.Duration, r Reply) bool {
	if h.released || (r.Renewal && !h.Held(now)) || r.Asked+r.TTL <= now {
		return false
	}
	if h.granted && !h.Held(now) {
		return false // it ended before: another owner may have come and gone
	}
	h.granted = true
	if end := r.Asked + r.TTL; end > h.deadline {
		h.deadline, h.moved = end, now
	}
	h.token = max(h.token, r.Token)
	return true
}

// Lost reports whether the answer that the lease is gone counts, if it is to a renewal that was sent at asked (N1). It
// does unless the lease is held by a grant that came since. A renewal that is slow asks some acceptors before a quicker
// one has reached them, and the others after their records of the grants before have ended.
func (h *Hold) Lost(asked time.Duration) bool { return h.moved < asked }

// Held reports whether the name is owned at now: read from the stored deadline each time, so that no timer can be late.
func (h *Hold) Held(now time.Duration) bool { return !h.released && now < h.deadline }

// Deadline returns the reading of the clock at which the ownership ends, 0 if there is none.
func (h *Hold) Deadline() time.Duration {
	if h.released {
		return 0
	}
	return h.deadline
}

// Token returns the fencing token to give with whatever the lease protects: the largest of the acquisition; 0 if
// nothing was granted.
func (h *Hold) Token() uint64 { return h.token }

// Release ends the ownership for good, before any request to release is sent.
func (h *Hold) Release() { h.released = true }
