package clienttest

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"tenure/client"
)

// Cluster is a store with nodes in front of it. All methods are safe for concurrent use.
type Cluster struct {
	mu       sync.Mutex
	revision uint64 // 1 at first, as of a real store
	entries  map[string]client.Entry
	known    map[string]remembered
	floor    uint64 // a base below it is too old
	applied  int
	master   uint64
	epoch    uint64
	faults   func(Request) Fault
	nodes    []*Node
	plain    bool   // writes without an idempotency key are taken
	drawn    uint64 // keys given to such writes
}

// Node is one of the nodes, numbered from 1.
type Node struct {
	ID      uint64
	URL     string // "" unless Start made it
	cluster *Cluster
	server  *httptest.Server
	problem string
}

type command struct {
	op    string
	key   string
	value string
	flags uint64
	cas   bool
	index uint64
}

type result struct {
	done     bool
	revision uint64
	count    uint64
}

type remembered struct {
	command command
	result  result
}

// New makes a cluster of n nodes that listen nowhere: serve Node.Handler as you like. Node 1 is master.
func New(n int) *Cluster {
	c := &Cluster{
		revision: 1, entries: map[string]client.Entry{}, known: map[string]remembered{},
		master: 1, epoch: 1, faults: func(Request) Fault { return None },
	}
	for i := range n {
		c.nodes = append(c.nodes, &Node{ID: uint64(i + 1), cluster: c})
	}
	return c
}

// Start makes a cluster whose nodes listen on loopback until Close.
func Start(n int) *Cluster {
	c := New(n)
	for _, x := range c.nodes {
		x.server = httptest.NewServer(x.Handler())
		x.URL = x.server.URL
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

// Node is the node with this id.
func (c *Cluster) Node(id uint64) *Node { return c.nodes[id-1] }

// Endpoints are the addresses of all nodes, by id.
func (c *Cluster) Endpoints() []string {
	var out []string
	for _, x := range c.nodes {
		out = append(out, x.URL)
	}
	return out
}

// Stop makes the node's address refuse connections for good.
func (n *Node) Stop() {
	n.server.CloseClientConnections()
	n.server.Close()
}

// SetProblem makes the node's status say that it takes no part, and why.
func (n *Node) SetProblem(why string) {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	n.problem = why
}

// Inject has f asked about every request. It is called without a lock, from the goroutine of the request.
func (c *Cluster) Inject(f func(Request) Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = f
}

// AcceptPlain has writes without an idempotency key taken as a real node does. Without it they are refused: the client
// never sends one.
func (c *Cluster) AcceptPlain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plain = true
}

// SetMaster moves mastership, under a new epoch. 0 is nobody.
func (c *Cluster) SetMaster(node uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.master = node
	if node != 0 {
		c.epoch++
	}
}

// Applied is how many writes were applied, failed conditions not counted.
func (c *Cluster) Applied() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.applied
}

// Revision is the store's revision.
func (c *Cluster) Revision() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.revision
}

// Forget drops all idempotency keys, as if many writes had come since.
func (c *Cluster) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.floor = map[string]remembered{}, c.revision+1
}

// Value is a key's value, without HTTP.
func (c *Cluster) Value(key string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	return string(e.Value), ok
}

// Set writes a key, without HTTP, and returns the revision.
func (c *Cluster) Set(key, value string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.apply(command{op: "set", key: key, value: value}).revision
}

// outcome is what a write came to: a result, or a status with a text.
type outcome struct {
	result
	status int
	text   string
}

// once applies x at most once under idempotency key and base.
func (c *Cluster) once(x command, key string, base uint64) outcome {
	if m, ok := c.known[key]; ok && m.command == x {
		return outcome{result: m.result, status: 200}
	} else if ok {
		return outcome{status: 409, text: "Idempotency-Key was used by another write"}
	}
	switch {
	case base < c.floor:
		return outcome{status: 504, text: "key too old: outcome unknown"}
	case base > c.revision:
		return outcome{status: 400, text: "X-Tenure-Base is above the store's revision"}
	}
	r := c.apply(x)
	c.known[key] = remembered{x, r}
	return outcome{result: r, status: 200}
}

func (c *Cluster) apply(x command) result {
	e, exists := c.entries[x.key]
	if x.cas && (exists || x.op == "set") && (e.ModifyIndex != x.index || x.op == "delete" && x.index == 0) {
		return result{revision: c.revision}
	}
	var gone []string
	switch {
	case x.op == "prune":
		gone = c.keys(x.key)
	case x.op == "delete" && exists:
		gone = []string{x.key}
	}
	if x.op != "set" && len(gone) == 0 {
		return result{done: true, revision: c.revision}
	}
	c.revision++
	c.applied++
	for _, k := range gone {
		delete(c.entries, k)
	}
	if x.op == "set" {
		e.Key, e.Value, e.Flags, e.ModifyIndex = x.key, bytes.Clone([]byte(x.value)), x.flags, c.revision
		if !exists {
			e.CreateIndex = c.revision
		}
		c.entries[x.key] = e
	}
	return result{done: true, revision: c.revision, count: uint64(len(gone))}
}

// keys are those that start with prefix, in order.
func (c *Cluster) keys(prefix string) []string {
	var out []string
	for k := range c.entries {
		if strings.HasPrefix(k, prefix) {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

func (c *Cluster) status(n *Node) client.Status {
	s := client.Status{
		Cluster: "pretended", Node: n.ID, Version: "test", Role: "follower", Master: c.master, Epoch: c.epoch,
		Promised: fmt.Sprintf("%d@%d.1:00000000", c.epoch, c.master), Chosen: c.revision, Applied: c.revision,
		Revision: c.revision, UptimeMS: 1000, Problem: n.problem, Peers: []client.PeerStatus{},
		Lease: client.LeaseStatus{RemainingMS: 800},
	}
	if c.master == n.ID {
		s.Role, s.Lease.Held = client.RoleMaster, true
	}
	return s
}
