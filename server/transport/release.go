package transport

import (
	"errors"
	"fmt"
	"io"

	"tenure/internal/ballot"
	"tenure/internal/frame"
	"tenure/internal/ident"
)

const (
	// MaxReleaseCounters bounds the ballots that one Release names.
	MaxReleaseCounters = 64
	maxReleaseRounds   = 16 // Releases taken from one connection
)

// Release is what the guardian of a process that has died tells that process' peers (P7): that Owner is dead, and which of
// its ballots, all of this one incarnation, may still be recorded. It comes on a connection of its own, which ends nothing and
// replaces nothing: by then a new run of the node may be connected.
type Release struct {
	Cluster  ident.ClusterID
	Store    ident.StoreID
	Owner    ballot.Incarnation
	Counters []uint64 // 1 to MaxReleaseCounters
}

// releaseMsg is a Release to one node. There is no answer. A node of an older release does not know it and closes the
// connection, which costs what it did before there were guardians.
type releaseMsg struct {
	To      ballot.NodeID
	Release Release
}

// WriteRelease writes r for node to on a new connection to it. It may be written again on the same one.
func WriteRelease(w io.Writer, to ballot.NodeID, r Release) error {
	f := frame.NewWriter(w)
	f.Add(encodeMsg(&releaseMsg{To: to, Release: r}))
	return f.Flush()
}

func checkRelease(m *releaseMsg) error {
	if n := len(m.Release.Counters); n < 1 || n > MaxReleaseCounters {
		return fmt.Errorf("a release of %d ballots", n)
	}
	if m.Release.Owner.IsZero() {
		return errors.New("a release without owner")
	}
	return errors.Join(checkNode(m.To), checkNode(m.Release.Owner.Node), checkStore(m.Release.Store))
}

// takeReleases hands a guardian's words on, as often as it says them.
func (t *Transport) takeReleases(w *wire, m *releaseMsg) error {
	for range maxReleaseRounds {
		s := t.service.Load()
		if s == nil {
			return nil // nothing of that owner's can be recorded here
		}
		if r := t.judgeRelease(s, m); r != nil {
			return r
		}
		s.handler.CrashReleased(m.Release.Owner, m.Release.Counters)
		next, err := w.receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		again, ok := next.(*releaseMsg)
		if !ok {
			return unexpected(next)
		}
		m = again
	}
	return nil
}

// judgeRelease is what is to be said against a guardian's word. Neither the constants nor the marks matter to it.
func (t *Transport) judgeRelease(s *service, m *releaseMsg) *Refusal {
	ours, r := t.cfg.Hello(), &m.Release
	switch {
	case m.To != ours.Node:
		return refuse(ReasonNode, "the address that the list gives for node %d leads to node %d: mend --cluster or start the node with its own --id and --data",
			m.To, ours.Node)
	case r.Owner.Node == ours.Node:
		return refuse(ReasonNode, "a guardian speaks for node %d to node %d itself", r.Owner.Node, ours.Node)
	case r.Cluster != ours.Cluster:
		return refuse(ReasonCluster, "a guardian of node %d in cluster %s speaks to node %d of cluster %s", r.Owner.Node, r.Cluster, ours.Node, ours.Cluster)
	}
	if store, listed := storeOf(s.members, r.Owner.Node); !listed || store != r.Store {
		return refuse(ReasonNotMember, "a guardian speaks for node %d with store %s, which is not in membership %s", r.Owner.Node, r.Store, s.members)
	}
	return nil
}
