package client

import (
	"time"
)

// Client is a handle on one cluster. All methods are safe for concurrent use.
//
// The methods of Client read and write keys. Everything else is grouped by what it is about; see Locks, Sessions,
// Leases, Fences, Nodes, Members, Quotas and ACL.
type Client struct {
	kv
	locks    *Locks
	sessions *Sessions
	leases   *Leases
	fences   *Fences
	nodes    *Nodes
	members  *Members
	quotas   *Quotas
	acl      *ACL
}

// New checks cfg and returns a client. It does not connect yet.
func New(cfg Config) (*Client, error) {
	s, err := newSender(cfg)
	if err != nil {
		return nil, err
	}
	return newClient(s, elapsedClock()), nil
}

// newClient returns a client that measures sessions and leases with the clock now.
func newClient(s *sender, now func() time.Duration) *Client {
	kv := kv{s}
	sessions := &Sessions{s: s, kv: kv, now: now}
	return &Client{
		kv:       kv,
		locks:    &Locks{kv: kv, sessions: sessions},
		sessions: sessions,
		leases:   &Leases{s: s, now: now, renewer: newRenewer(s, now)},
		fences:   &Fences{s},
		nodes:    &Nodes{s},
		members:  &Members{s},
		quotas:   &Quotas{s},
		acl:      &ACL{s},
	}
}

// Locks returns the calls on locks and semaphores.
func (c *Client) Locks() *Locks { return c.locks }

// Sessions returns the calls on sessions.
func (c *Client) Sessions() *Sessions { return c.sessions }

// Leases returns the calls on leases.
func (c *Client) Leases() *Leases { return c.leases }

// Fences returns the calls on fences.
func (c *Client) Fences() *Fences { return c.fences }

// Nodes returns the calls on the nodes of the cluster.
func (c *Client) Nodes() *Nodes { return c.nodes }

// Members returns the calls on the members of the cluster.
func (c *Client) Members() *Members { return c.members }

// Quotas returns the calls on the quotas of prefixes.
func (c *Client) Quotas() *Quotas { return c.quotas }

// ACL returns the calls on tokens and policies.
func (c *Client) ACL() *ACL { return c.acl }

// Endpoints returns the endpoints as URLs: those of the Config in their order, and then the other members, as far as
// they have been learned, see Config.NoLearning.
func (c *Client) Endpoints() []string {
	var out []string
	for _, e := range c.s.endpoints.all() {
		out = append(out, e.String())
	}
	return out
}

// Close closes idle connections and stops renewing leases: those that were not released are lost here, and end in the
// cluster when their TTL has passed. Calls in flight go on.
func (c *Client) Close() {
	c.leases.renewer.close()
	c.s.learner.close()
	c.s.transport.CloseIdleConnections()
}
