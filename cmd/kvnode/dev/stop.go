package dev

import (
	"fmt"
	"syscall"
	"time"

	"tenure/internal/devcluster"
)

const (
	stopGrace = 10 * time.Second // for the orderly stop of a node
	killGrace = 5 * time.Second  // for the kernel to end it
	maxRounds = 3                // kvctl may start nodes while others stop
)

// stop ends all nodes, also those that kvctl has started, and records it in dev.json.
func (c *cluster) stop() error {
	c.lookAgain()
	if n := c.running(); n > 0 {
		c.tell.say("stopping %d nodes", n)
	}
	for range maxRounds {
		c.signal(syscall.SIGTERM)
		c.signal(syscall.SIGCONT) // a paused one would not see it
		if !c.await(stopGrace, c.o.Hurry) {
			break
		}
		if c.lookAgain(); c.running() == 0 {
			return nil
		}
	}
	for _, m := range c.members {
		if m.node.PID != 0 {
			c.tell.say("node %d is killed: it has not stopped", m.node.ID)
		}
	}
	c.signal(syscall.SIGKILL)
	if !c.await(killGrace, nil) {
		return fmt.Errorf("%d nodes could not be ended; see %s", c.running(), devcluster.StateName)
	}
	return nil
}

// lookAgain finds nodes that kvctl has started since the last look. An error must not keep the others from being
// stopped.
func (c *cluster) lookAgain() {
	if err := c.look(); err != nil {
		c.tell.say("%v", err)
	}
}

func (c *cluster) signal(sig syscall.Signal) {
	for _, m := range c.members {
		switch pid := m.node.PID; {
		case m.child != nil:
			_ = m.child.Signal(sig)
		case runs(c.binary, m.node, pid): // another process may have its number by now
			_ = syscall.Kill(pid, sig)
		}
	}
}

// await reports whether all nodes ended in time.
func (c *cluster) await(grace time.Duration, hurry <-chan struct{}) bool {
	late := time.After(grace)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for c.running() > 0 {
		select {
		case e := <-c.exits:
			c.ended(c.member(e.data), e.pid)
		case <-tick.C:
			for _, m := range c.members {
				if m.child == nil && m.node.PID != 0 && !runs(c.binary, m.node, m.node.PID) {
					c.ended(m, m.node.PID)
				}
			}
		case <-late:
			return false
		case <-hurry:
			return false
		}
	}
	return true
}

// ended is gone while all nodes stop. m may be nil, of a node that is no member any more.
func (c *cluster) ended(m *member, pid int) {
	if m == nil {
		return
	}
	if err := c.gone(m, pid); err != nil {
		c.tell.say("%v", err)
	}
}
