package transport

import (
	"errors"
	"io"

	"tenure/server/wire"
)

// maxReleaseRounds bounds the Releases taken from one connection.
const maxReleaseRounds = 16

// takeReleases hands a guardian's words on, as often as it says them.
func (t *Transport) takeReleases(c *conn, m *wire.ReleaseMsg) error {
	for range maxReleaseRounds {
		s := t.service.Load()
		if s == nil {
			return nil // nothing of that owner's can be recorded here
		}
		if r := t.judgeRelease(s, m); r != nil {
			return r
		}
		s.handler.CrashReleased(m.Release.Owner, m.Release.Counters)
		next, err := c.receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		again, ok := next.(*wire.ReleaseMsg)
		if !ok {
			return unexpected(next)
		}
		m = again
	}
	return nil
}

// judgeRelease is what is to be said against a guardian's word. Neither the constants nor the marks matter to it.
func (t *Transport) judgeRelease(s *service, m *wire.ReleaseMsg) *Refusal {
	ours, r := t.cfg.Hello(), &m.Release
	switch {
	case m.To != ours.Node:
		return refuse(wire.ReasonNode, "the address that the list gives for node %d leads to node %d: mend --cluster or start the node with its own --id and --data",
			m.To, ours.Node)
	case r.Owner.Node == ours.Node:
		return refuse(wire.ReasonNode, "a guardian speaks for node %d to node %d itself", r.Owner.Node, ours.Node)
	case r.Cluster != ours.Cluster:
		return refuse(wire.ReasonCluster, "a guardian of node %d in cluster %s speaks to node %d of cluster %s", r.Owner.Node, r.Cluster, ours.Node, ours.Cluster)
	}
	if store, listed := storeOf(s.members, r.Owner.Node); !listed || store != r.Store {
		return refuse(wire.ReasonNotMember, "a guardian speaks for node %d with store %s, which is not in membership %s", r.Owner.Node, r.Store, s.members)
	}
	return nil
}
