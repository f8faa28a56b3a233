package compat

import (
	"testing"

	"github.com/hashicorp/consul/api"

	"tenure/jepsen/cluster"
)

// guarded is a cluster whose clients must show certificates, and a token for everything that needs a permission.
type guarded struct{ overTLS }

func startGuarded(t *testing.T, flags ...string) guarded {
	t.Helper()
	return guarded{certified(t, startWith(t, cluster.Config{TLS: true, ACL: true, Flags: flags}))}
}

// as is a client of hashicorp/consul/api of node n with a token.
func (c *guarded) as(t *testing.T, n *cluster.Node, secret string) *api.Client {
	t.Helper()
	return c.dialWith(t, n, secret)
}

// root is a client that may do everything.
func (c *guarded) root(t *testing.T, n *cluster.Node) *api.Client { return c.as(t, n, c.Root()) }

// token makes a token with a policy of its own, through node n.
func (c *guarded) token(t *testing.T, n *cluster.Node, name, rules string) *api.ACLToken {
	t.Helper()
	acl := c.root(t, n).ACL()
	_, _, err := acl.PolicyCreate(&api.ACLPolicy{Name: name, Rules: rules}, nil)
	must(t, err)
	token, _, err := acl.TokenCreate(&api.ACLToken{Description: name, Policies: []*api.ACLLink{{Name: name}}}, nil)
	must(t, err)
	return token
}

// The library as in TestConsulAPI, with certificates and a token that allows what its tests do and no more.
func TestConsulAPIWithAToken(t *testing.T) {
	c := startGuarded(t, "--session-ttl-min", "500ms")
	token := c.token(t, c.Node(1), "all", `key_prefix "" { policy = "write" } session_prefix "" { policy = "write" }
		operator = "read" agent_prefix "" { policy = "read" }`)
	var nodes []*api.Client
	for _, n := range c.Nodes() {
		nodes = append(nodes, c.as(t, n, token.SecretID))
	}
	t.Run("keys", func(t *testing.T) { keys(t, nodes) })
	t.Run("conditions", func(t *testing.T) { conditions(t, nodes) })
	t.Run("sessions", func(t *testing.T) { sessions(t, nodes) })
	t.Run("transactions", func(t *testing.T) { transactions(t, nodes) })
	t.Run("blocking queries", func(t *testing.T) { blocking(t, nodes) })
	t.Run("status", func(t *testing.T) { status(t, nodes) })
}
