package access

import (
	"sync"
	"sync/atomic"
	"time"

	"tenure/kv"
)

// Config is what a Decider is made of.
type Config struct {
	// CatchUp waits until this node has applied every change of tokens and policies that was acknowledged before the
	// call, and has published it. Its error says why that is not so within timeout.
	CatchUp func(timeout time.Duration) error
	// Now reads the wall clock, which says when tokens expire.
	Now func() time.Time
	// ResetFile is the path of the file that allows one more bootstrap; see ResetFileName.
	ResetFile string
}

// Decider knows which tokens and policies this node has applied. All methods are safe for concurrent use.
type Decider struct {
	cfg     Config
	rounds  rounds
	news    atomic.Pointer[news]
	publish sync.Mutex // held by Publish
	uses    uses
}

// news is the last publication, with the subjects made from it.
type news struct {
	acl      *kv.ACL // nil: nothing was published yet
	subjects subjects
	over     chan struct{} // closed when there is something newer
}

// New returns a Decider that knows nothing: until Publish everything is refused for now.
func New(cfg Config) *Decider {
	d := &Decider{cfg: cfg, rounds: rounds{catchUp: cfg.CatchUp}}
	d.news.Store(&news{over: make(chan struct{})})
	return d
}

// Publish makes acl the state for all decisions from now on. Publications must come in the order of the changes.
func (d *Decider) Publish(acl *kv.ACL) {
	d.publish.Lock()
	defer d.publish.Unlock()
	before := d.news.Load()
	next := &news{acl: acl, over: make(chan struct{})}
	next.subjects.uses = &d.uses
	next.subjects.policies = before.subjects.policiesThatRemain(acl)
	d.news.Store(next)
	close(before.over)
}

// Await returns the tokens and policies of that revision or a later one as soon as they are published. After limit it
// returns the newest published ones. At least one publication must have been made before.
func (d *Decider) Await(revision uint64, limit time.Duration) *kv.ACL {
	end := time.NewTimer(limit)
	defer end.Stop()
	for {
		now := d.news.Load()
		if now.acl.Revision() >= revision {
			return now.acl
		}
		select {
		case <-now.over:
		case <-end.C:
			return now.acl
		}
	}
}

// ACL returns the tokens and policies that were published last, nil if none were.
func (d *Decider) ACL() *kv.ACL { return d.news.Load().acl }
