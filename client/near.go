package client

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"tenure/api"
)

// nearPause is how long nothing goes first to a master's address that was of no use, and the shortest time between two
// looks at such an address. It is longer than a change of master takes, in which nodes may name the old one for a
// moment, and so short that little is lost when only one answer was lost.
const nearPause = 10 * time.Second

// maxMasterText is the length of the largest number of a node. Longer text in its place is rubbish.
const maxMasterText = 5

// near knows where the master is, as the answers of nodes of the Client's own cluster say (api.HeaderMaster). Requests
// that the master has to be asked for go there first, and so save the way from another node to it. It is a hint: any
// node takes any request, and a wrong hint costs one more try at most.
//
// Nothing goes first to an address that has not answered lately. The learner looks there in the background, so that no
// call waits for an address that cannot be reached from here, now or ever. All methods are safe for concurrent use.
type near struct {
	s      *sender
	began  time.Time
	master atomic.Uint64 // the number named last; 0: none
	asked  atomic.Int64  // by now: when a node was asked whether the master has moved
	turn   atomic.Uint32 // of the nodes that are asked so
}

func newNear(s *sender) *near { return &near{s: s, began: time.Now()} }

// now returns the time of endpoint.pausedUntil.
func (n *near) now() int64 { return int64(time.Since(n.began)) }

// observe takes the master from a node's answer at e to a request with the header sent. Unless that has named the
// cluster, the answer may be of another one, whose numbers mean other nodes.
func (n *near) observe(e *endpoint, a answer, sent http.Header) {
	text := a.header.Get(api.HeaderMaster)
	if n.s.cfg.NoLearning || text == "" || len(text) > maxMasterText {
		return
	}
	master, err := strconv.ParseUint(text, 10, 64)
	if err != nil || master == 0 || master == n.master.Load() && e.well.Load() {
		return
	}
	named := sent[api.HeaderCluster]
	if len(named) == 0 || named[0] != n.s.cluster.known() || a.code() == api.CodeOtherCluster {
		return
	}
	n.master.Store(master)
	e.well.Store(true)
}

// endpoint returns where the master answers, or nil if that is not known. It has the learner look at its addresses that
// have not answered lately.
func (n *near) endpoint() *endpoint {
	master := n.master.Load()
	if master == 0 {
		return nil
	}
	var unknown *endpoint
	now := n.now()
	for _, e := range n.s.endpoints.all() {
		switch {
		case e.member.Load() != master || now < e.pausedUntil.Load():
		case e.well.Load():
			return e
		case unknown == nil:
			unknown = e
		}
	}
	if unknown != nil {
		n.s.learner.lookAt(unknown)
	}
	return nil
}

// pause keeps requests from going first to e for nearPause.
func (n *near) pause(e *endpoint) { e.pausedUntil.Store(n.now() + int64(nearPause)) }

// failed forgets the master, if it is the one at e, which was of no use. It must answer there before it is used again,
// and not before nearPause is over. Another master that is named is believed at once.
func (n *near) failed(e *endpoint) {
	n.pause(e)
	e.well.Store(false)
	n.master.CompareAndSwap(e.member.Load(), 0) // another one may have been named meanwhile
}

// forget forgets the master of a cluster that is gone.
func (n *near) forget() { n.master.Store(0) }
