package client

import (
	"errors"
	"fmt"
	"net/http"
	"sync"

	"tenure/api"
)

// cluster is the cluster that a Client uses: the first that a node has named. Every later request names it. A node at a
// member's address may have founded another cluster, because it has lost its directory for example, and does not carry
// out such a request. All methods are safe for concurrent use.
type cluster struct {
	mu sync.Mutex
	id string // "": none was named yet
}

// is reports whether id is that of the cluster. The first one is.
func (c *cluster) is(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.id == "" {
		c.id = id
	}
	return c.id == id
}

// known returns the id of the cluster, "" if none was named yet.
func (c *cluster) known() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id
}

// name names the cluster in h, if one is known.
func (c *cluster) name(h http.Header) {
	if id := c.known(); id != "" {
		h[api.HeaderCluster] = []string{id}
	}
}

// forget makes the next cluster that a node names the one that is used.
func (c *cluster) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id = ""
}

// errOtherCluster: a node is of another cluster than the one that is used.
var errOtherCluster = errors.New("it is of another cluster than the one that this client has used")

// ofThisCluster returns an error unless id, which a node at e has named, is that of the cluster that is used.
func (s *sender) ofThisCluster(e, id string) error {
	if s.cluster.is(id) {
		return nil
	}
	return fmt.Errorf("%s: %w", e, errOtherCluster)
}

// isOtherCluster reports whether err says that a node is of another cluster.
func isOtherCluster(err error) bool {
	var status *StatusError
	return errors.Is(err, errOtherCluster) || errors.As(err, &status) && status.Code == api.CodeOtherCluster
}

// replaced is called when the nodes at all given addresses belong to another cluster than the Client's: that cluster is
// gone. The Client then uses the next cluster that a node names, and forgets everything of the old one.
func (s *sender) replaced() {
	s.cluster.forget()
	s.revision.forget()
	s.learner.forget()
	s.near.forget()
}
