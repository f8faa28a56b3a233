package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tenure/api"
	"tenure/jepsen/scrape"
	"tenure/kv"
)

// lookEvery is how often a node is asked for what is waited for.
const lookEvery = 10 * time.Millisecond

// Pause waits for d, and reports whether ctx has not ended before.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// Config says what cluster to run.
type Config struct {
	Binaries Binaries
	Dir      string              // data directories and logs, one each a node
	Nodes    int                 // ids 1 to Nodes
	Spares   int                 // places for nodes that join later: see members.go
	Flags    []string            // for every node
	DataDir  func(id int) string // nil: node1, node2, … in Dir
	Network  Network             // nil: loopback. Its owner closes it, after Stop. It has all places
	Env      func(id int) []string
	Redis    bool // nodes speak the Redis protocol, too
	TLS      bool // certificates for nodes and clients, which both must show; without Spares
	ACL      bool // nodes ask for tokens: see tokens.go
}

// Cluster is a set of node processes. Its methods are not safe for concurrent use on the same node;
// different nodes may be driven at a time.
type Cluster struct {
	cfg     Config
	network Network
	places  []*Node
	http    *http.Client
	certs   *Certificates // nil without TLS
	tokens  *Tokens       // nil without ACL

	mu  sync.Mutex
	out map[int]bool // places that hold no member
}

// New prepares a cluster; nothing runs yet.
func New(cfg Config) (*Cluster, error) {
	c := &Cluster{cfg: cfg, http: &http.Client{Timeout: 2 * time.Second}, out: map[int]bool{}}
	net := cfg.Network
	if net == nil {
		l, err := newLoopback(cfg.Nodes + cfg.Spares)
		if err != nil {
			return nil, err
		}
		net = l
	}
	c.network = net
	if cfg.TLS {
		if err := c.secure(); err != nil {
			return nil, err
		}
	}
	if cfg.ACL {
		c.guard()
	}
	redis, err := redisAddresses(cfg, net)
	if err != nil {
		return nil, err
	}
	var list []string
	for i := range cfg.Nodes {
		_, _, listed := net.Addresses(i + 1)
		list = append(list, fmt.Sprintf("%d=%s", i+1, listed))
	}
	for i := range cfg.Nodes + cfg.Spares {
		n := &Node{ID: i + 1, Data: filepath.Join(cfg.Dir, fmt.Sprintf("node%d", i+1)),
			Log: filepath.Join(cfg.Dir, fmt.Sprintf("node%d.log", i+1)), binary: cfg.Binaries.Kvnode, network: net}
		n.Client, n.Peer, _ = net.Addresses(n.ID)
		n.Redis = redis[i]
		if cfg.DataDir != nil {
			n.Data = cfg.DataDir(n.ID)
		}
		if cfg.Env != nil {
			n.env = cfg.Env(n.ID)
		}
		n.member, n.name = n.ID, fmt.Sprint("node-", n.ID)
		c.out[n.ID] = n.ID > cfg.Nodes
		n.Args = c.args(n, "--id", fmt.Sprint(n.ID), "--cluster", strings.Join(list, ","))
		c.places = append(c.places, n)
	}
	if p, ok := net.(*Proxied); ok {
		p.serve(func(id int) int { return c.Node(id).PID() })
	}
	return c, os.MkdirAll(cfg.Dir, 0o755)
}

// args returns the arguments of a node that says with who which one it is, or where it joins.
func (c *Cluster) args(n *Node, who ...string) []string {
	args := append(who, "--data", n.Data, "--client", n.Client, "--peer", n.Peer)
	if n.Redis != "" {
		args = append(args, "--redis", n.Redis)
	}
	if c.certs != nil {
		args = append(args, c.certs.Flags(n.ID)...)
	}
	return append(append(args, c.network.Flags()...), c.cfg.Flags...)
}

// Node returns the node with this id.
func (c *Cluster) Node(id int) *Node { return c.places[id-1] }

// Endpoints returns the base URLs for clients of all nodes, and of the places of those that may join.
func (c *Cluster) Endpoints() (out []string) {
	for _, n := range c.places {
		out = append(out, c.Endpoint(n))
	}
	return out
}

// Redis returns the addresses for clients of Redis of all places, in the order of Endpoints; none without Config.Redis.
func (c *Cluster) Redis() (out []string) {
	for _, n := range c.places {
		if n.Redis != "" {
			out = append(out, n.Redis)
		}
	}
	return out
}

// Endpoint returns the base URL for clients of a node.
func (c *Cluster) Endpoint(n *Node) string {
	if c.certs != nil {
		return "https://" + n.Client
	}
	return "http://" + n.Client
}

// Start starts every node that does not run and waits until all are ready. The first time it makes the first tokens,
// if the cluster asks for some.
func (c *Cluster) Start(ctx context.Context) error {
	for _, n := range c.Nodes() {
		if !n.Running() {
			if err := n.Start(); err != nil {
				return err
			}
		}
	}
	err := c.WaitReady(ctx, c.Nodes()...)
	if err == nil && c.tokens != nil {
		err = c.tokens.bootstrap(ctx)
	}
	return err
}

// Stop ends every process: SIGCONT, SIGTERM, and SIGKILL for what is left after grace.
func (c *Cluster) Stop(grace time.Duration) {
	for _, n := range c.places {
		n.terminate(grace)
	}
}

// WaitReady waits until each of the nodes says that it is ready.
func (c *Cluster) WaitReady(ctx context.Context, nodes ...*Node) error {
	for _, n := range nodes {
		for err := c.ready(ctx, n); err != nil; err = c.ready(ctx, n) {
			if ended := n.exited(); ended != nil {
				return fmt.Errorf("node %d ended: %w; see %s", n.ID, ended, n.Log)
			}
			if !Pause(ctx, lookEvery) {
				return fmt.Errorf("node %d is not ready: %w; see %s", n.ID, err, n.Log)
			}
		}
	}
	return nil
}

// WaitLevel waits until the cluster is at the feature level of this release, as a new one soon is. It needs all nodes, so a
// cluster that loses one at its very beginning may stay below.
func (c *Cluster) WaitLevel(ctx context.Context) error {
	for {
		s, err := c.Status(ctx, c.places[0])
		if err == nil && s.FeatureLevel >= kv.NewestLevel {
			return nil
		}
		if !Pause(ctx, lookEvery) {
			return fmt.Errorf("the cluster is at feature level %d, of %d: %w", s.FeatureLevel, kv.NewestLevel, ctx.Err())
		}
	}
}

// WaitCheckpointed waits until each node has all writes up to a revision, that of an acknowledged write, in its state
// database. A status may be a tick old, so the slots in it say nothing about a write that was acknowledged just now.
func (c *Cluster) WaitCheckpointed(ctx context.Context, revision uint64) error {
	for _, n := range c.Nodes() {
		for {
			s, err := c.Status(ctx, n)
			if err == nil && s.Revision >= revision && s.Checkpointed == s.Applied {
				break
			}
			if !Pause(ctx, lookEvery) {
				return fmt.Errorf("node %d: slot %d in a checkpoint, slot %d applied, revision %d of %d: %w",
					n.ID, s.Checkpointed, s.Applied, s.Revision, revision, ctx.Err())
			}
		}
	}
	return nil
}

func (c *Cluster) ready(ctx context.Context, n *Node) error {
	_, err := c.get(ctx, n, api.PathHealthReady)
	return err
}

// Status asks node n for its state.
func (c *Cluster) Status(ctx context.Context, n *Node) (api.Status, error) {
	var s api.Status
	body, err := c.get(ctx, n, api.PathStatus)
	if err == nil {
		err = json.Unmarshal(body, &s)
	}
	return s, err
}

// Master waits for a node that holds the lease and is ready, and returns it with its epoch.
func (c *Cluster) Master(ctx context.Context) (*Node, uint64, error) {
	for {
		for _, n := range c.Nodes() {
			if !n.Running() || n.Paused() {
				continue
			}
			s, err := c.Status(ctx, n)
			if err == nil && s.Lease.Held && s.Role == api.RoleMaster {
				return n, s.Epoch, nil
			}
		}
		if !Pause(ctx, lookEvery/2) {
			return nil, 0, errors.New("no master in time")
		}
	}
}

func (c *Cluster) get(ctx context.Context, n *Node, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return scrape.Get(ctx, c.http, c.Endpoint(n)+path, c.Root())
}
