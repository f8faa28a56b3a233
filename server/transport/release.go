package transport

import (
	"errors"
	"io"

	"tenure/server/wire"
)

// maxReleaseRounds bounds the Releases taken from one connection.
const maxReleaseRounds = 16

// released serves the connection of a guardian: it hands each of its Releases to the handler. None is answered.
func (s *peers) released(c *conn, m *wire.ReleaseMsg) error {
	for range maxReleaseRounds {
		if r := s.checkRelease(m, c.cert); r != nil {
			return r
		}
		s.handler.CrashReleased(m.Release.Owner, m.Release.Counters)
		next, err := expect[*wire.ReleaseMsg](c)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		m = next
	}
	return nil
}

// checkRelease returns why a Release must be refused, nil if it need not be. Neither the constants nor the marks matter
// to it.
func (s *peers) checkRelease(m *wire.ReleaseMsg, cert string) *Refusal {
	ours, r, members := s.cfg.Hello(), &m.Release, s.membership()
	switch {
	case m.To != ours.Node:
		return wrongNode(m.To, ours.Node, members)
	case r.Owner.Node == ours.Node:
		return refuse(wire.ReasonNode, "a guardian speaks for node %d to node %d itself", r.Owner.Node, ours.Node)
	case r.Cluster != ours.Cluster:
		return refuse(wire.ReasonCluster, "a guardian of node %d in cluster %s speaks to node %d of cluster %s",
			r.Owner.Node, r.Cluster, ours.Node, ours.Cluster)
	}
	if store, listed := storeOf(members, r.Owner.Node); !listed || store != r.Store {
		return refuse(wire.ReasonNotMember,
			"a guardian speaks for node %d with store %s, which is not in membership %s",
			r.Owner.Node, r.Store, members)
	}
	return checkName(r.Owner.Node, cert, members, ours.Node)
}
