package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"tenure/internal/certs"
	"tenure/internal/ident"
	"tenure/server/wire"
)

// Join asks the node at addr to admit the node of m to its cluster, and follows referrals to other nodes. It returns
// the answer that admits the node. files are for TLS between nodes, nil without TLS.
//
// The error is final if it is a *Refusal with another reason than wire.ReasonNotReady. In all other cases, for example
// after a lost answer, the caller may ask again with the same m, also another member.
func Join(ctx context.Context, addr string, m wire.JoinMsg, files *certs.Files) (wire.JoinedMsg, error) {
	for range maxJoinHops {
		joined, err := joinAt(ctx, addr, &m, files)
		if err != nil {
			return wire.JoinedMsg{}, fmt.Errorf("ask the node at %s to let this node in: %w", addr, err)
		}
		if joined.Ask == "" {
			return *joined, nil
		}
		addr = joined.Ask
	}
	return wire.JoinedMsg{}, errors.New("the nodes that were asked do not agree which of them is the master")
}

// Greet asks the node at addr whether it is a member of a cluster, without asking to be let in. m is as for Join. It
// returns nil once a member has answered; errors are those of Join.
func Greet(ctx context.Context, addr string, m wire.JoinMsg, files *certs.Files) error {
	m.Constants, m.Store = wire.Constants{}, ident.StoreID{1} // of nobody
	_, err := joinAt(ctx, addr, &m, files)
	var r *Refusal
	if errors.As(err, &r) && r.ByPeer && r.Reason == wire.ReasonConstants {
		return nil
	}
	return fmt.Errorf("ask the node at %s to let this node in: %w", addr, err)
}

// joinAt asks one node.
func joinAt(ctx context.Context, addr string, m *wire.JoinMsg, files *certs.Files) (*wire.JoinedMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*joinTimeout)
	defer cancel()
	nc, err := (&net.Dialer{Timeout: joinTimeout}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	defer context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })()
	c := newConn(overTLS(nc, files, dialling), 0, time.Time{})
	if err := c.authenticate(ctx); err != nil {
		return nil, err
	}
	if err := c.send(m); err != nil {
		return nil, err
	}
	joined, err := expect[*wire.JoinedMsg](c)
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return nil, fmt.Errorf("it ended the connection without an answer (%w): give --join the address that a member "+
			"has as its --peer, and --tls-cert, --tls-key and --tls-ca if the members speak TLS", err)
	}
	if errors.Is(err, wire.ErrTooLarge) { // such as HTTP
		return nil, refuse(wire.ReasonJoin, "what answers at %s is not the port of a node for its peers: name the address "+
			"that the node was given with --peer, not the one for clients", addr)
	}
	if err == nil && joined.Ask == "" && !joined.Membership.Lists(joined.Node, m.Store) {
		return nil, refuse(wire.ReasonJoin, "node %d is the id for store %s, but membership %s has another store for it",
			joined.Node, m.Store, joined.Membership)
	}
	return joined, err
}

// joins answers a node that wants to join.
func (s *peers) joins(c *conn, m *wire.JoinMsg) error {
	select {
	case s.joining <- struct{}{}:
		defer func() { <-s.joining }()
	default:
		return c.refuse(refuse(wire.ReasonNotReady, "%d nodes join at the same time; this one has to wait", maxJoins))
	}
	if r := s.checkJoin(m, c.cert); r != nil {
		err := c.refuse(r)
		if m.Greeting() && r.Reason == wire.ReasonConstants {
			return nil // it expects that, and it is not worth a line of the log
		}
		return err
	}
	ctx, cancel := context.WithTimeout(s.sockets.ctx, joinTimeout)
	defer cancel()
	c.nc.SetDeadline(time.Now().Add(joinTimeout + s.cfg.HandshakeTimeout))
	joined, err := s.cfg.Join(ctx, *m)
	if err != nil {
		var r *Refusal
		if !errors.As(err, &r) {
			r = &Refusal{Reason: wire.ReasonNotReady, Text: err.Error()}
		}
		return c.refuse(r)
	}
	joined.Membership = s.now.Load().withAddresses(joined.Membership)
	s.log.Info().Str("remote", c.remote()).Uint64("joined", uint64(joined.Node)).Str("store", m.Store.String()).
		Str("ask", joined.Ask).Msg("answered a node that wants to join")
	return c.send(&joined)
}

// checkJoin returns the refusal of a node that must not join with its store and settings, nil if it may ask.
func (s *peers) checkJoin(m *wire.JoinMsg, cert string) *Refusal {
	ours, membership := s.handshake.hello(), s.membership()
	if cert != "" && m.Name != cert {
		return refuse(wire.ReasonCertificate, "a node wants to join as %q with the certificate of %s: its name must be that "+
			"of its certificate", m.Name, cert)
	}
	if !m.Cluster.IsZero() && m.Cluster != ours.Cluster {
		return refuse(wire.ReasonCluster, "the node that joins was in cluster %s and wants to be there again, and "+
			"node %d is of cluster %s: join a member of its own cluster; if that is no more, say --give-up", m.Cluster, ours.Node,
			ours.Cluster)
	}
	if m.Constants != ours.Constants {
		return refuse(wire.ReasonConstants, "the nodes of a cluster must be started with the same lease settings: %s",
			difference(called(ours.Node), &ours.Constants, "the node that joins", &m.Constants))
	}
	if m.Level < ours.ClusterLevel {
		return LevelRefusal("the node that joins", m.Level, ours.ClusterLevel)
	}
	for _, x := range membership.All() {
		_, voter, _ := membership.Find(x.Node)
		if x.Store != m.Store || !voter && !s.handshake.history.tookPart(x.Node, x.Store) {
			continue
		}
		return refuse(wire.ReasonRolledBack, "store %s wants to join, but it is node %d of cluster %s already and has "+
			"taken part: its data directory was rolled back. A store that has forgotten something must not take part again; "+
			"start the node with an empty data directory and %s", m.Store, x.Node, ours.Cluster, replaceFlag(x))
	}
	return nil
}

// withAddresses returns m, completed with this node's known addresses, so that a node with nothing but m finds the
// other members.
func (t *table) withAddresses(m ident.Membership) ident.Membership {
	fill := func(list []ident.Member) (out []ident.Member) {
		for _, x := range list {
			x.PeerAddr = t.address(x)
			out = append(out, x)
		}
		return out
	}
	m.Members, m.NonVoters = fill(m.Members), fill(m.NonVoters)
	return m
}
