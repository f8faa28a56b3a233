package transport

import (
	"sync/atomic"
	"time"

	"tenure/server/wire"
)

// soughtFor is how long the visit of another cluster's member counts. A refused member dials again within seconds
// (retryRefused).
const soughtFor = 30 * time.Second

// SeekTime bounds the time until a reachable member dials a restarted node. It is longer than DialBack, retryMax and
// retryRefused, each with its jitter of half.
const SeekTime = 2 * time.Second

// sought remembers that a member of another cluster has dialled this node as a member of its own cluster.
type sought struct{ last atomic.Pointer[seeker] }

// seeker is such a member.
type seeker struct {
	at   time.Time
	text string // of the refusal
}

// note remembers the refusal of a connection that was made to this node.
func (s *sought) note(r *Refusal) {
	if r.Reason == wire.ReasonCluster && !r.ByPeer {
		s.last.Store(&seeker{at: time.Now(), text: r.Text})
	}
}

// Served returns the time since Serve, 0 before it.
func (t *Transport) Served() time.Duration {
	if began := t.served.Load(); began != nil {
		return time.Since(*began)
	}
	return 0
}

// Sought returns the refusal of another cluster's member that dialled this node as its own member within soughtFor, or
// "".
func (t *Transport) Sought() string {
	if s := t.sought.last.Load(); s != nil && time.Since(s.at) < soughtFor {
		return s.text
	}
	return ""
}
