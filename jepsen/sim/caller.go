package sim

import (
	"time"

	"tenure/kv"
	"tenure/server/replica"
)

// access is what everybody who asks nodes shares.
type access struct {
	*engine
	nodes   []*node
	hops    *random // how long requests and answers take
	masters *masters
}

// caller asks nodes for operations of the log part, by one attempt after the other.
type caller struct {
	*access
	id      int
	random  random
	via     *node // where it asks next
	command kv.Command
	attempt uint64        // the one that it waits for; 0: none
	newest  uint64        // highest revision that it was told
	took    func(*answer) // takes the answer to the attempt
}

// begin makes the next attempt.
func (c *caller) begin(m mode, key string) *attempt {
	c.attempt = c.nextRequest()
	a := &attempt{access: c.access, caller: c, serial: c.attempt, mode: m, key: key}
	if a.isWrite() {
		a.write = replica.WriteOf(&c.command)
	}
	return a
}

// send brings an attempt to the caller's node after d.
func (c *caller) send(a *attempt, d, wait time.Duration) {
	n := c.via
	n.reach(kindAsk, d, func() { a.arrive(n, wait) })
}

// try brings an attempt to the caller's node, and takes it for one of unknown outcome when the time has passed: a node
// that is paused may end before it sees it.
func (c *caller) try(a *attempt, timeout time.Duration) {
	c.send(a, c.hop(), timeout)
	c.giveUp(timeout)
}

// giveUp has the caller wait for the answer to its attempt for so long.
func (c *caller) giveUp(timeout time.Duration) {
	serial := c.attempt
	c.at(nil, kindClient, timeout, func() {
		if c.attempt == serial {
			c.answered(answer{outcome: replica.Unknown})
		}
	})
}

// hop draws how long a request takes to its node, or an answer back.
func (x *access) hop() time.Duration { return x.hops.skewed(x.plan.hop, x.plan.clientHop) }

// anyNode draws a node.
func (x *access) anyNode(r *random) *node { return x.nodes[r.below(len(x.nodes))] }

// answered takes the answer to the attempt, or the end of the time that the caller waits for it.
func (c *caller) answered(ans answer) {
	c.attempt = 0
	if c.trace.on() {
		c.trace.note("client %d: %s", c.id, outcomeNames[ans.outcome])
	}
	c.trace.mix(uint64(c.id), uint64(ans.outcome), ans.result.Revision, uint64(ans.result.Code))
	c.took(&ans)
}

// askEra has the log allot an era to this run of the node.
func (n *node) askEra() {
	p := n.process
	c := &caller{access: n.site.clients.access, id: 400 + n.i, via: n}
	// The answer comes to the node itself; only if that is paused does it wait.
	once := func() {
		c.command = p.leases.era.Next(p.log.state.Revision())
		c.begin(write, "").arrive(n, replica.EraTimeout)
	}
	c.took = func(ans *answer) {
		if n.process != p {
			return
		}
		if ans.outcome == replica.Done {
			if era := p.leases.era.Took(&ans.result); era != 0 {
				n.leases.put(namedEvent{era: era})
				return
			}
		}
		n.later(kindLeaser, replica.EraRetry, once)
	}
	n.later(kindLeaser, 0, once)
}
