package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/server/transport"
	"tenure/server/wire"
	"tenure/storage"
)

// ErrNoSuchMember is wrapped by Run's error if Config.Replace names no member.
var ErrNoSuchMember = errors.New("no member has that name")

// waitsForCluster is followed by the reason.
const waitsForCluster = "this node asks to join the cluster of "

const (
	joinRetryMin = 200 * time.Millisecond // between two questions
	joinRetryMax = time.Second
	joinLogEvery = time.Minute // the same answer is logged again after this
)

// becomeMember returns the node id in the data directory. If the directory is nobody's yet, becomeMember first joins
// the cluster of Config.Join, and makes the membership durable. It opens the ports before it asks: a taken port must
// not leave the cluster with a member that cannot run. Nothing is written before a member has answered at the address
// of Config.Join, which may be mistyped. It returns 0 if ctx has ended meanwhile.
func (c Config) becomeMember(ctx context.Context, tls *secrets) (ballot.NodeID, error) {
	id, _, err := storage.ReadIdentity(c.Data)
	if err != nil {
		return 0, err
	}
	if id.Formed {
		return id.Node, nil
	}
	c.Node = 0 // it may have been that of a directory that was lost
	n := newNode(c, tls)
	if err := n.listen(); err != nil {
		return 0, err
	}
	defer n.ports.close()
	m, err := n.joinMsg(id.Node)
	if err != nil {
		return 0, err
	}
	if met, err := n.greet(ctx, m); err != nil || !met {
		return 0, err
	}
	n.store, err = storage.Open(c.Data, storage.Options{QuotaBytes: c.QuotaBytes})
	if errors.Is(err, storage.ErrTooSmall) {
		return 0, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err != nil {
		return 0, err
	}
	m.Store = n.store.Identity().Store
	var joined *wire.JoinedMsg
	if c.StartedAs != 0 {
		err = n.store.NoteStartedAs(c.StartedAs)
	}
	if err == nil {
		joined, err = n.askToJoin(ctx, m)
	}
	if err == nil && joined != nil {
		err = n.store.Join(joined.Cluster, joined.Node, joined.Membership)
	}
	if err = errors.Join(err, n.store.Close()); err != nil || joined == nil {
		return 0, err
	}
	n.log.Info().Uint64("id", uint64(joined.Node)).Stringer("cluster", joined.Cluster).Msg("joined the cluster")
	return joined.Node, nil
}

// rejoining returns the configuration with which a node that has lost its place takes it again. Its operator still
// starts it with the lost id.
func (c Config) rejoining(lost *transport.BootstrapError) Config {
	c.PeerAdvertise = c.peerAdvertised()
	c.Join, c.StartedAs = lost.Member, c.Node
	c.Replace = cmp.Or(lost.Name, c.NodeName, fmt.Sprintf("node-%d", c.Node))
	c.Logger.Warn().Str("cluster_says", lost.Text).Str("join", c.Join).Str("replace", c.Replace).
		Msg("the data directory is empty and the cluster is not: this node joins again, in place of itself (--rejoin)")
	c.Rejoin, c.Node, c.Cluster = false, 0, nil
	return c
}

// greet asks until a member of a cluster answers, or ctx ends: then it reports false.
func (n *node) greet(ctx context.Context, m wire.JoinMsg) (met bool, err error) {
	return n.keepAsking(ctx, func() error { return transport.Greet(ctx, n.cfg.Join, m, n.tls.peerFiles()) })
}

// askToJoin asks until the cluster lets this node in, refuses it for good, or ctx ends: then it returns nil. A node
// without an answer cannot know whether it was let in, so it repeats its question with the same ids.
func (n *node) askToJoin(ctx context.Context, m wire.JoinMsg) (*wire.JoinedMsg, error) {
	var joined wire.JoinedMsg
	in, err := n.keepAsking(ctx, func() (err error) {
		joined, err = transport.Join(ctx, n.cfg.Join, m, n.tls.peerFiles())
		return err
	})
	if !in {
		return nil, err
	}
	return &joined, nil
}

// keepAsking calls ask until it succeeds, is refused for good, or ctx ends: then it reports false.
func (n *node) keepAsking(ctx context.Context, ask func() error) (done bool, err error) {
	said, at := "", time.Duration(0)
	for wait := joinRetryMin; ; wait = min(2*wait, joinRetryMax) {
		err := ask()
		if err == nil {
			return true, nil
		}
		if ctx.Err() != nil {
			return false, nil
		}
		if isFinal(err) {
			return false, refusedToJoin(err)
		}
		text := waitsForCluster + n.cfg.Join + ": " + err.Error()
		n.front.SetProblem(text)
		if now := n.clock.Now(); text != said || now-at > joinLogEvery {
			n.log.Warn().Str("join", n.cfg.Join).Err(err).Msg("not let into the cluster yet; asking again")
			said, at = text, now
		}
		select {
		case <-ctx.Done():
			return false, nil
		case err := <-n.ports.served:
			return false, fmt.Errorf("the client port stopped serving: %w", err)
		case <-time.After(wait):
		}
	}
}

// isFinal reports whether asking again is of no use.
func isFinal(err error) bool {
	var r *transport.Refusal
	return errors.As(err, &r) && r.Reason != wire.ReasonNotReady
}

// refusedToJoin returns the error of Run for a refusal for good.
func refusedToJoin(err error) error {
	var r *transport.Refusal
	if errors.As(err, &r) && r.Reason == wire.ReasonNotMember {
		return fmt.Errorf("%w: %w: %w", ErrConfig, ErrNoSuchMember, err)
	}
	return fmt.Errorf("%w: %w", ErrConfig, err)
}

// joinMsg returns this node's request to join, without its store. before is the id under which the node was started
// when its directory was lost, 0 if there is none. Without --node-name the node takes the name of the replaced member,
// so the same command line can replace it again. Without either it takes the name derived from before.
func (n *node) joinMsg(before ballot.NodeID) (wire.JoinMsg, error) {
	name := cmp.Or(n.cfg.NodeName, n.cfg.Replace)
	if name == "" && before != 0 {
		name = fmt.Sprintf("node-%d", before)
	}
	if err := n.tls.checkJoin(name); err != nil {
		return wire.JoinMsg{}, err
	}
	for _, s := range []struct{ flag, name string }{{"--node-name", name}, {"--replace", n.cfg.Replace}} {
		if !ident.Plain(s.name, ident.MaxNameBytes) {
			return wire.JoinMsg{}, fmt.Errorf("%w: %s %.80q: a member's name has at most %d characters of ASCII, and no spaces",
				ErrConfig, s.flag, s.name, ident.MaxNameBytes)
		}
	}
	return wire.JoinMsg{
		Operation: "join-" + rand.Text(), Name: name, Replace: n.cfg.Replace,
		PeerAddr: n.cfg.peerAdvertised(), ClientAddr: n.cfg.clientAdvertised(), NonVoter: n.cfg.NonVoter, Spare: n.cfg.Spare,
		ReplaceAfter: n.cfg.ReplaceAfter, Constants: n.cfg.constants(),
		Level: kv.NewestLevel, Cluster: n.cfg.JoinCluster, ACL: n.cfg.ACL,
	}, nil
}

// peerAdvertised returns where peers reach this node.
func (c Config) peerAdvertised() string {
	if c.PeerAdvertise != "" {
		return c.PeerAdvertise
	}
	for _, a := range c.Cluster {
		if a.Node == c.Node && a.Addr != "" {
			return a.Addr
		}
	}
	return c.PeerAddr
}

// redisAdvertised is where clients of Redis reach this node; "": nowhere. The host is that at which other clients do.
func (c Config) redisAdvertised() string {
	if c.RedisAddr == "" {
		return ""
	}
	host, port, err := net.SplitHostPort(c.RedisAddr)
	if ip := net.ParseIP(host); err == nil && (c.ClientAdvertise != "" || host == "" || ip != nil && ip.IsUnspecified()) {
		if other, _, err := net.SplitHostPort(c.clientAdvertised()); err == nil {
			return net.JoinHostPort(other, port)
		}
	}
	return c.RedisAddr
}

// clientAdvertised returns where clients reach this node.
func (c Config) clientAdvertised() string { return cmp.Or(c.ClientAdvertise, c.ClientAddr) }

// constants are what all nodes of a cluster must have alike.
func (c Config) constants() wire.Constants {
	return wire.Constants{LeaseTime: c.LeaseTime, MaxLeaseTime: c.MaxLeaseTime, DriftPPM: c.ClockDriftPPM,
		Margin: c.LeaseMargin}
}
