package guardian

import (
	"errors"
	"fmt"

	"tenure/internal/ballot"
	"tenure/internal/certs"
	"tenure/internal/codec"
	"tenure/internal/ident"
	"tenure/internal/quorum"
)

// Plan tells the guardian its owner and the peers to inform.
type Plan struct {
	Cluster ident.ClusterID
	Store   ident.StoreID
	Owner   ballot.Incarnation
	Peers   []Peer // at most twice quorum.MaxVoters: those of two memberships
	// TLS names the files of the node, which the guardian reads when it has to speak; zero: the peers speak no TLS.
	TLS certs.Paths
	// Revoked names the node's file of revocation lists; "": it has none.
	Revoked string
}

// Peer is another member and where it listens for its peers.
type Peer struct {
	Node ballot.NodeID
	Addr string // host:port
	Name string // in its certificate; only with Plan.TLS
}

// ErrPlan is wrapped by errors about a plan or a page that cannot be read.
var ErrPlan = errors.New("not a guardian's page")

func (p *Plan) encode() ([]byte, error) {
	b := codec.Marshal(p)
	if len(b) > planBytes {
		return nil, fmt.Errorf("%w: the peers' addresses take %d bytes, there is space for %d", ErrPlan, len(b), planBytes)
	}
	return b, nil
}

func decodePlan(b []byte) (Plan, error) {
	var p Plan
	if err := codec.Unmarshal(b, &p); err != nil {
		return p, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	if p.Owner.IsZero() || len(p.Peers) > 2*quorum.MaxVoters {
		return p, fmt.Errorf("%w: owner %v with %d peers", ErrPlan, p.Owner, len(p.Peers))
	}
	return p, nil
}
