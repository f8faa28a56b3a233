package clienttest

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tenure/api"
	"tenure/client"
)

// Cluster is a store with nodes in front of it. All methods are safe for concurrent use.
type Cluster struct {
	mu       sync.Mutex
	id       string
	store    store
	stores   int    // stores that Replace has ended
	writes   writes // to store, under fences
	master   uint64
	epoch    uint64
	faults   func(Request) Fault
	nodes    []*Node
	plain    bool   // writes without an idempotency key are taken
	drawn    uint64 // keys given to such writes
	news     news
	forgot   uint64 // streams that begin below are told that changes are missing
	leases   leases
	fences   fences
	members  members
	acls     acls
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
	stopped atomic.Bool
	apart   bool // it takes no part
	copies  *api.SnapshotStatus
}

// New returns a cluster of n nodes that do not listen: the caller serves Node.Handler. Node 1 is master.
func New(n int) *Cluster {
	c := &Cluster{
		id: "pretended", store: newStore(), news: news{make(chan struct{})},
		master: 1, epoch: 1, leases: newLeases(), fences: fences{seen: map[string]uint64{}},
		acls: newACLs(), faults: func(Request) Fault { return None },
	}
	c.writes = writes{store: &c.store, fences: &c.fences, acls: &c.acls, known: map[string]remembered{}}
	for i := range n {
		c.nodes = append(c.nodes, &Node{ID: uint64(i + 1), cluster: c})
	}
	c.members = newMembers(c.nodes)
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

// Stop makes the node's address refuse connections from now on.
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

// SetSnapshot makes the status of the node say that it receives a copy of the state; nil: none.
func (n *Node) SetSnapshot(s *api.SnapshotStatus) {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	n.copies = s
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

// Applied returns how many writes were applied, without failed conditions and renewals.
func (c *Cluster) Applied() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.store.applied
}

// Revision returns the revision of the store.
func (c *Cluster) Revision() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.store.revision
}

// Forget drops all idempotency keys, as if many writes had come since.
func (c *Cluster) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes.known, c.writes.floor = map[string]remembered{}, c.store.revision+1
}

// Compact drops the history of changes: streams that begin now, and not behind the newest, are told so.
func (c *Cluster) Compact() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgot = c.store.revision
}

// Replace puts another, empty store in the place of this one, as if the nodes had begun anew at the same addresses. It
// cuts every stream. Leases, fences, members, tokens and policies stay.
func (c *Cluster) Replace() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store, c.forgot = newStore(), 0
	c.writes.known, c.writes.floor = map[string]remembered{}, 0
	c.stores++
	c.news.wake()
}

// CutAfter cuts the stream that sends the n-th event from now on, after that event.
func (c *Cluster) CutAfter(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cutAfter = n
}

// Value returns the value of a key, without HTTP.
func (c *Cluster) Value(key string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.store.entries[key]
	return string(e.Value), ok
}

// Set writes a key, without HTTP, and returns the revision.
func (c *Cluster) Set(key, value string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.tell(c.store.revision)
	c.store.set(op{Verb: "set", Key: key, Value: []byte(value)})
	return c.store.revision
}

// Delete deletes all keys that start with prefix, without HTTP.
func (c *Cluster) Delete(prefix string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.tell(c.store.revision)
	c.store.delete(c.store.keys(prefix))
}

// Sessions returns the IDs of the live sessions.
func (c *Cluster) Sessions() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep()
	return slices.Sorted(maps.Keys(c.store.sessions))
}

// EndSession ends a session, without HTTP, as if its TTL had passed.
func (c *Cluster) EndSession(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.tell(c.store.revision)
	c.store.endSession(id)
}

// tell wakes requests that wait, if the revision has changed since it was before.
func (c *Cluster) tell(before uint64) {
	if c.store.revision != before {
		c.news.wake()
	}
}

// sweep ends sessions and keys whose TTL has passed. A real node gives sessions longer.
func (c *Cluster) sweep() {
	defer c.tell(c.store.revision)
	c.store.sweep(time.Now())
}

func (c *Cluster) status(n *Node) client.Status {
	s := client.Status{
		Cluster: c.id, Node: n.ID, Version: "test", Role: api.RoleFollower, Master: c.master, Epoch: c.epoch,
		Promised: fmt.Sprintf("%d@%d.1:00000000", c.epoch, c.master), Chosen: c.store.revision, Applied: c.store.revision,
		Revision: c.store.revision, UptimeMS: 1000, Problem: n.problem, Peers: []client.PeerStatus{},
		Lease: client.LeaseStatus{RemainingMS: 800},
	}
	for _, p := range c.nodes {
		if p != n {
			s.Peers = append(s.Peers, client.PeerStatus{Node: p.ID, ClientAddress: strings.TrimPrefix(p.URL, "http://"),
				Connected: !p.stopped.Load(), NonVoter: c.members.nonVoter(p.ID), Problem: p.known})
		}
	}
	s.Snapshot, s.Draining = n.copies, c.members.drains(n.ID)
	if c.members.nonVoter(n.ID) {
		s.Role = api.RoleNonVoter
	}
	if c.master == n.ID {
		s.Role, s.Lease.Held = client.RoleMaster, true
	}
	if n.apart {
		s.Role = api.RoleNone
	}
	return s
}
