package transport

import (
	"sync/atomic"
	"time"

	"tenure/server/wire"
)

// soughtFor is for how long it counts that a member of another cluster was here. One that was refused comes again
// within seconds (retryRefused).
const soughtFor = 30 * time.Second

// SeekTime is how long a member that is in reach takes at most until it dials a node that was started again: longer
// than DialBack, retryMax and retryRefused, each half as long again by its jitter.
const SeekTime = 2 * time.Second

// sought remembers that a member of another cluster has looked here for a member of its own with the id of this node.
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

// Served returns for how long others have been answered with what this node is.
func (t *Transport) Served() time.Duration {
	if began := t.served.Load(); began != nil {
		return time.Since(*began)
	}
	return 0
}

// Sought returns the refusal of a member of another cluster that has looked here for a member of its own with the id of
// this node a short while ago, or "".
func (t *Transport) Sought() string {
	if s := t.sought.last.Load(); s != nil && time.Since(s.at) < soughtFor {
		return s.text
	}
	return ""
}
