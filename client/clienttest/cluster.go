package clienttest

import (
	"net/http/httptest"
	"sync"
	"sync/atomic"

	"tenure/api"
	"tenure/server/web"
)

// Cluster is a store with nodes in front of it. All methods are safe for concurrent use.
type Cluster struct {
	mu       sync.Mutex
	id       string
	store    *store
	guarded  bool // tokens are required
	drawn    int  // tokens and policies that were added without HTTP
	master   uint64
	epoch    uint64
	faults   func(Request) Fault
	nodes    []*Node
	plain    bool // writes without an idempotency key are taken
	leases   leases
	members  roster
	words    func(string) string // see Reword; nil: as they are
	cutAfter int                 // events after which the stream that sends the last of them is cut; 0: none is
}

// Node is one of the nodes, numbered from 1.
type Node struct {
	ID      uint64
	URL     string // "" unless Start made it
	cluster *Cluster
	server  *httptest.Server
	problem string
	known   string // of this node by the others
	refused string // why the others are not connected with this node; "": they are
	stopped atomic.Bool
	apart   bool // it takes no part
	copies  *api.SnapshotStatus
	absence *api.Absence
	// What answers its requests: without tokens, with tokens, and while it hears no other node.
	open, guarded, partitioned *web.Server
}

// New returns a cluster of n nodes that do not listen: the caller serves Node.Handler. Node 1 is master.
func New(n int) *Cluster {
	c := &Cluster{
		id: "pretended", master: 1, epoch: 1, leases: newLeases(), faults: func(Request) Fault { return None },
	}
	c.store = newStore(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.store.sweep()
	})
	for i := range n {
		c.nodes = append(c.nodes, &Node{ID: uint64(i + 1), cluster: c})
		c.nodes[i].serve()
	}
	c.members = newRoster(c.nodes)
	return c
}

// Start returns a cluster whose nodes listen on loopback until Close.
func Start(n int) *Cluster {
	c := New(n)
	for _, x := range c.nodes {
		x.server = httptest.NewUnstartedServer(x.Handler())
		x.URL = "http://" + x.server.Listener.Addr().String()
	}
	for _, x := range c.nodes { // each may tell the addresses of all at once
		x.server.Start()
	}
	return c
}

// Close stops the nodes that Start started.
func (c *Cluster) Close() {
	for _, x := range c.nodes {
		if x.server != nil {
			x.server.CloseClientConnections()
			x.server.Close()
		}
	}
}

// Node returns the node with that ID.
func (c *Cluster) Node(id uint64) *Node { return c.nodes[id-1] }

// Endpoints returns the addresses of all nodes, by ID.
func (c *Cluster) Endpoints() []string {
	var out []string
	for _, x := range c.nodes {
		out = append(out, x.URL)
	}
	return out
}

// Stop makes the address of a node that Start made refuse connections from now on.
func (n *Node) Stop() {
	n.stopped.Store(true)
	n.server.CloseClientConnections()
	n.server.Close()
}

// SetProblem makes the status of the node say that it takes no part in the cluster, and why.
func (n *Node) SetProblem(why string) {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	n.problem, n.apart = why, true
}

// SetKnown makes the status of the other nodes say why this one may not be found.
func (n *Node) SetKnown(why string) {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	n.known = why
}

// SetRefused makes the status of the other nodes say that they are not connected with this one, and why.
func (n *Node) SetRefused(why string) {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	n.refused = why
}

// SetSnapshot makes the status of the node say that it receives a copy of the state; nil: none.
func (n *Node) SetSnapshot(s *api.SnapshotStatus) {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	n.copies = s
}

// SetAbsence makes the status of the node say what the cluster would be without it; nil: it does not say.
func (n *Node) SetAbsence(a *api.Absence) {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	n.absence = a
}

// SetFull makes the status of the node say that its disk is short of space. It still takes part.
func (n *Node) SetFull(why string) {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	n.problem, n.apart = why, false
}

// Inject sets the function that chooses the fault of each request. f is called without a lock, from the goroutine of
// the request.
func (c *Cluster) Inject(f func(Request) Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = f
}

// SetID changes the id of the cluster, which is "pretended". Requests for another cluster are refused.
func (c *Cluster) SetID(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id = id
}

// AcceptPlain has writes without an idempotency key taken as a real node does. Without it they are refused: the client
// never sends one.
func (c *Cluster) AcceptPlain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plain = true
}

// Reword has the texts of refusals, which are for people, replaced by what f makes of them. The code decides.
func (c *Cluster) Reword(f func(text string) string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.words = f
}

// SetMaster moves mastership to a node, under a new epoch. 0 is nobody.
func (c *Cluster) SetMaster(node uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.master = node
	if node != 0 {
		c.epoch++
	}
}

// CutAfter cuts the stream that sends the n-th event from now on, after that event.
func (c *Cluster) CutAfter(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cutAfter = n
}
