package cluster

import (
	"fmt"
	"os"
)

// Nodes returns the nodes that are members, as far as the harness knows, in the order of their places.
func (c *Cluster) Nodes() []*Node { return c.within(false) }

// Free returns the places that hold no member.
func (c *Cluster) Free() []*Node { return c.within(true) }

// Places returns all places.
func (c *Cluster) Places() []*Node { return c.places }

func (c *Cluster) within(out bool) (nodes []*Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.places {
		if c.out[n.ID] == out {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// Enter notes that the node in n's place is a member with that number.
func (c *Cluster) Enter(n *Node, member int) {
	n.mu.Lock()
	n.member = member
	n.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out[n.ID] = false
}

// Leave notes that the node in n's place is no member any more.
func (c *Cluster) Leave(n *Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out[n.ID] = true
}

// Wipe deletes the data of a node that does not run.
func (c *Cluster) Wipe(n *Node) error {
	if n.Running() {
		return fmt.Errorf("node %d runs", n.ID)
	}
	return os.RemoveAll(n.Data)
}

// Prepare has the next start of n, which must not run and have no data, join the cluster of via under a name, with
// further flags. Later starts are with the same arguments.
func (c *Cluster) Prepare(n, via *Node, name string, flags ...string) {
	_, _, join := c.network.Addresses(via.ID)
	_, _, own := c.network.Addresses(n.ID)
	args := append([]string{"--join", join, "--advertise-peer", own, "--node-name", name}, flags...)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.Args, n.name, n.member = c.args(n, args...), name, 0
}

// Rejoin has the next start of n, which must not run, set its data aside and take its own place, by way of via.
func (c *Cluster) Rejoin(n, via *Node) {
	_, _, join := c.network.Addresses(via.ID)
	_, _, own := c.network.Addresses(n.ID)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.Args, n.member = append([]string{"rejoin"}, c.args(n, "--join", join, "--advertise-peer", own)...), 0
}

// Settle has the next start of n, which must not run, be on a data directory that says which member it is.
func (c *Cluster) Settle(n *Node, data string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.Data = data
	n.Args = c.args(n)
}

// Member returns the number of the node in this place as the cluster counts, 0 if it has none yet.
func (n *Node) Member() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.member
}

// Name returns the name of the node in this place.
func (n *Node) Name() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.name
}
