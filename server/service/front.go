package service

import (
	"fmt"
	"sync/atomic"
	"time"

	"tenure/api"
)

// Front is what the listeners reach a node through: before the node is a member of a formed cluster there is nobody,
// and after Close nobody any more. The Front answers then what the node waits for, and refuses every request. It is
// safe for concurrent use.
type Front struct {
	node     atomic.Pointer[Node]       // nil before Serve
	starting atomic.Pointer[api.Status] // the status without a node: what it waits for, or why it was closed
	closed   atomic.Bool
	// sure is set once this node knows that its cluster has no tokens that it must ask for. It is set at once where the
	// node asks for tokens anyway.
	sure atomic.Bool
}

var (
	_ Cluster = (*Front)(nil)
	_ Health  = (*Front)(nil)
)

// NewFront returns a Front whose status is starting until Serve. It refuses requests with starting.Problem.
func NewFront(starting api.Status) *Front {
	f := &Front{}
	f.starting.Store(&starting)
	f.sure.Store(starting.ACL)
	return f
}

// FrontOf returns the Front of a pretended node: one that serves already, and knows the tokens of its cluster.
func FrontOf(n Node) *Front {
	f := NewFront(api.Status{})
	f.sure.Store(true)
	f.Serve(n)
	return f
}

// SetProblem changes what the node says that it waits for.
func (f *Front) SetProblem(problem string) {
	s := *f.starting.Load()
	s.Problem = problem
	f.starting.Store(&s)
}

// Serve has requests carried out by n from now on.
func (f *Front) Serve(n Node) { f.node.Store(&n) }

// Close refuses every request with problem from now on, also reads of keys under way. If the caller holds the state's
// lock for writing, no client sees keys as of then or later.
func (f *Front) Close(problem string) {
	f.SetProblem(problem)
	f.closed.Store(true)
}

// begun returns the node, which may be asked about itself; nil if there is none yet, or none any more.
func (f *Front) begun() Node {
	if n := f.node.Load(); n != nil && !f.closed.Load() {
		return *n
	}
	return nil
}

// refusal returns nil if there is a node that may serve clients, else why there is none.
func (f *Front) refusal() error {
	if n := f.begun(); n != nil {
		return n.Serves()
	}
	return f.nobody()
}

// nobody says why there is no node.
func (f *Front) nobody() error {
	return fmt.Errorf("%w: %s", ErrNotApplied, f.starting.Load().Problem)
}

// makeSure has a node without tokens catch up before its first write: the cluster may have got tokens while the node
// was down, and then the Front is closed. Reads need no check: they are as old as the node's knowledge of tokens.
func (f *Front) makeSure(timeout time.Duration) error {
	if f.sure.Load() {
		return nil
	}
	if _, err := f.CatchUp(timeout); err != nil {
		return NotApplied("this node does not know yet whether the cluster has tokens", err)
	}
	f.sure.Store(true)
	return nil
}

// CatchUp waits until the node has applied what was acknowledged before, and returns the store's revision then.
func (f *Front) CatchUp(timeout time.Duration) (revision uint64, err error) {
	if err := f.refusal(); err != nil {
		return 0, err
	}
	if revision, err = (*f.node.Load()).CatchUp(timeout); err != nil {
		return revision, err
	}
	return revision, f.refusal()
}

// Status returns the node's view of itself and its peers.
func (f *Front) Status() api.Status {
	if n := f.begun(); n != nil {
		return n.Status()
	}
	return *f.starting.Load()
}

// History returns how busy the node was in the last minutes.
func (f *Front) History() api.History {
	if n := f.begun(); n != nil {
		return n.History()
	}
	return api.History{Node: f.starting.Load().Node, Samples: []api.HistorySample{}}
}

// Reports returns what each member says of itself.
func (f *Front) Reports() api.Reports {
	if n := f.begun(); n != nil {
		return n.Reports()
	}
	return api.Reports{Reports: []api.Report{}}
}

// Ready returns nil if the node can serve.
func (f *Front) Ready() error {
	if n := f.begun(); n != nil {
		return n.Ready()
	}
	return f.nobody()
}

// ClusterID returns the id of the cluster, "" until the node takes part in it.
func (f *Front) ClusterID() string {
	if n := f.node.Load(); n != nil {
		return (*n).ClusterID()
	}
	return ""
}

// Drained reports whether the node is drained and knows no master.
func (f *Front) Drained() bool { return known(f, Node.Drained) }

// Full names the members that are short of space.
func (f *Front) Full() string { return known(f, Node.Full) }

// Peers lists the peer addresses of the members.
func (f *Front) Peers() []string { return known(f, Node.Peers) }

// Leader returns the peer address of the master.
func (f *Front) Leader() string { return known(f, Node.Leader) }

// Master returns the number of the master.
func (f *Front) Master() uint64 { return known(f, Node.Master) }

// known returns what the node knows, or the zero value if there is none for requests.
func known[A any](f *Front, of func(Node) A) (answer A) {
	if n := f.begun(); n != nil && n.Serves() == nil {
		return of(n)
	}
	return answer
}
