package dev

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tenure/internal/devcluster"
	"tenure/internal/process"
)

const (
	watchEvery = 200 * time.Millisecond // how soon a node that kvctl started, paused or killed is noticed
	slowStart  = 10 * time.Second       // after this long it is reported what the cluster waits for
)

// member is a node as the supervisor knows it.
type member struct {
	node   devcluster.Node // with the last known PID
	child  *process.Child  // its exit comes over exits; nil: kvctl has started it
	paused bool
}

// cluster is the supervisor's state, touched by its own goroutine only.
type cluster struct {
	o       Options
	dir     string
	binary  string
	members []*member // by rising id
	exits   chan exit
	tell    *teller
	poller  *poller

	began    time.Time
	ready    bool
	slowTold bool
	securing <-chan error // receives how the bootstrap of tokens ended; nil: none runs
	master   int
}

func newCluster(o Options, dir, binary string, nodes []devcluster.Node) *cluster {
	c := &cluster{
		o: o, dir: dir, binary: binary, tell: &teller{out: o.Out, o: o, dir: dir, redis: nodes[0].Redis},
		exits: make(chan exit, len(nodes)), // a child's exit never waits for the loop
	}
	for _, n := range nodes {
		c.members = append(c.members, &member{node: n})
	}
	return c
}

func (c *cluster) run(ctx context.Context) (err error) {
	c.began = time.Now()
	defer func() {
		if e := c.stop(); err == nil {
			err = e
		}
	}()
	for _, m := range c.members {
		if err := c.start(m); err != nil {
			return err
		}
	}
	c.tell.started(c.members)
	return c.watch(ctx)
}

func (c *cluster) start(m *member) error {
	child, err := start(c.binary, m.node, c.exits)
	if err != nil {
		return err
	}
	m.node.PID, m.child = child.PID, child
	return setPID(c.dir, m.node.ID, -1, child.PID)
}

// watch returns when ctx ends, or when there is nothing left to wait for.
func (c *cluster) watch(ctx context.Context) error {
	views := make(chan view)
	polling, end := context.WithCancel(ctx)
	defer end()
	c.poller = newPoller()
	if ca := c.members[0].node.CA; ca != "" {
		if err := c.poller.trust(ca); err != nil {
			return err
		}
	}
	c.poller.follow(c.members)
	go c.poller.run(polling, views)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-c.exits:
			if err := c.exited(e); err != nil {
				return err
			}
		case v := <-views:
			c.viewed(ctx, v)
		case err := <-c.securing:
			c.secured(err)
		case <-tick.C:
			if err := c.look(); err != nil {
				return err
			}
		}
		if !c.ready && c.running() == 0 {
			return errAllDead
		}
	}
}

func (c *cluster) running() (n int) {
	for _, m := range c.members {
		if m.node.PID != 0 {
			n++
		}
	}
	return n
}

// member returns the node with that data directory, or nil: its id may change.
func (c *cluster) member(data string) *member {
	for _, m := range c.members {
		if m.node.Data == data {
			return m
		}
	}
	return nil
}

// exited records the end of a child. kvctl may have started the node again by now.
func (c *cluster) exited(e exit) error {
	m := c.member(e.data)
	if m == nil {
		return nil
	}
	c.tell.died(m, e.pid, e.how)
	return c.gone(m, e.pid)
}

// gone notes that a process of a node has ended, here and in dev.json, unless another has taken its place.
func (c *cluster) gone(m *member, pid int) error {
	if m.node.PID == pid {
		m.node.PID, m.child, m.paused = 0, nil, false
	}
	return setPID(c.dir, m.node.ID, pid, 0)
}

// look compares dev.json and the processes with what is known.
func (c *cluster) look() error {
	s, err := readState(c.dir)
	if err != nil || s == nil {
		return err // the nodes are watched even if the directory was removed
	}
	c.follow(s)
	for _, m := range c.members {
		n := s.With(m.node.Data)
		if n == nil {
			continue
		}
		if err := c.compare(m, *n); err != nil {
			return err
		}
	}
	return nil
}

// follow takes over which nodes there are, as kvctl dev add, remove and replace have left it.
func (c *cluster) follow(s *devcluster.State) {
	changed := false
	for _, n := range s.Nodes {
		switch m := c.member(n.Data); {
		case m == nil:
			n.PID = 0 // what runs is told of next
			c.members = append(c.members, &member{node: n})
			c.tell.say("node %d was added", n.ID)
			changed = true
		case m.node.ID != n.ID:
			c.tell.say("node %d is node %d now", m.node.ID, n.ID)
			m.node.ID = n.ID
			changed = true
		}
	}
	before := len(c.members)
	c.members = slices.DeleteFunc(c.members, func(m *member) bool {
		gone := m.node.PID == 0 && s.With(m.node.Data) == nil
		if gone {
			c.tell.say("node %d was removed", m.node.ID)
		}
		return gone
	})
	if c.poller != nil && (changed || len(c.members) != before) {
		c.poller.follow(c.members)
	}
}

func (c *cluster) compare(m *member, now devcluster.Node) error {
	switch {
	case now.PID != m.node.PID && runs(c.binary, now, now.PID):
		m.node.PID, m.node.Args, m.child, m.paused = now.PID, now.Args, nil, false
		c.tell.say("node %d was started, pid %d", m.node.ID, now.PID)
	case m.child == nil && m.node.PID != 0 && !runs(c.binary, m.node, m.node.PID):
		pid := m.node.PID
		c.tell.died(m, pid, "")
		return c.gone(m, pid)
	}
	if p := m.node.PID != 0 && paused(c.binary, m.node); p != m.paused {
		m.paused = p
		c.tell.say("node %d %s", m.node.ID, map[bool]string{true: "is paused", false: "was resumed"}[p])
	}
	return nil
}

// viewed reports what has changed in what the nodes say.
func (c *cluster) viewed(ctx context.Context, v view) {
	switch {
	case c.securing != nil:
		return
	case !c.ready:
		c.waitReady(ctx, v)
		return
	}
	if v.master == c.master {
		return
	}
	if v.master == 0 {
		c.tell.say("no node is master")
	} else {
		c.tell.say("node %d is master, epoch %d", v.master, v.epoch)
	}
	c.master = v.master
}

// waitReady announces the cluster once every node that runs is ready. If it asks for tokens, the first one is made before.
func (c *cluster) waitReady(ctx context.Context, v view) {
	var missing []string
	for _, m := range c.members {
		if id := m.node.ID; m.node.PID != 0 && !v.ready[id] {
			missing = append(missing, fmt.Sprintf("node %d: %s", id, v.missing[id]))
		}
	}
	took := time.Since(c.began)
	if len(missing) == 0 && c.running() > 0 && v.master != 0 {
		c.master = v.master
		if c.members[0].node.Token == "" {
			c.ready = true
			c.tell.ready(took, v.master)
			return
		}
		done := make(chan error, 1)
		cfg, file := c.clientConfig(), c.members[0].node.Token
		go func() { done <- bootstrap(ctx, cfg, file) }()
		c.securing = done
		return
	}
	if took > slowStart && !c.slowTold {
		c.slowTold = true
		c.tell.waiting(took, missing)
	}
}
