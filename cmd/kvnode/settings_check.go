package main

import (
	"fmt"
	"net"
	"strings"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

const (
	maxDriftPPM       = 100_000
	minLeaseTime      = 50 * time.Millisecond
	maxLeaseTimeLimit = time.Hour
	maxLeaseMargin    = time.Minute
)

func (s *settings) checkCluster() error {
	if !s.given("cluster") {
		if s.cfg.Node != 1 && s.cfg.Join == "" && !s.member {
			return badConfig("%s %d: a node without --cluster runs alone, as node 1; list all nodes with --cluster, "+
				"or this one only with --cluster %d=%s, or join a cluster with --join", s.name("id"), s.cfg.Node, s.cfg.Node,
				or(s.cfg.PeerAddr, defaultPeer))
		}
		return nil
	}
	cluster := s.name("cluster")
	if n := len(s.cfg.Cluster); n > quorum.MaxVoters {
		return badConfig("%s: lists %d nodes; list at most %d", cluster, n, quorum.MaxVoters)
	}
	nodes, addrs := map[ballot.NodeID]bool{}, map[string]ballot.NodeID{}
	var ids []string
	for _, a := range s.cfg.Cluster {
		if nodes[a.Node] {
			return badConfig("%s: lists node %d twice; give each node its own number", cluster, a.Node)
		}
		if o := addrs[a.Addr]; o != 0 {
			return badConfig("%s: nodes %d and %d have the same address %s; give each its own", cluster, o, a.Node,
				a.Addr)
		}
		nodes[a.Node], addrs[a.Addr] = true, a.Node
		ids = append(ids, fmt.Sprint(a.Node))
	}
	if len(s.cfg.Cluster) > 1 && !s.given("id") && !s.known {
		return badConfig("%s: lists %d nodes; say with --id which of them this one is", cluster, len(s.cfg.Cluster))
	}
	if !nodes[s.cfg.Node] && s.known {
		return badConfig("%s: lists %s, but %s is the data directory of node %d; add %d=HOST:PORT to the list, or leave it "+
			"out", cluster, strings.Join(ids, ", "), s.cfg.Data, s.cfg.Node, s.cfg.Node)
	}
	if !nodes[s.cfg.Node] {
		return badConfig("%s %d: is not in %s, which lists %s; add %d=HOST:PORT to it or use one of those",
			s.name("id"), s.cfg.Node, cluster, strings.Join(ids, ", "), s.cfg.Node)
	}
	return nil
}

// checkBounds refuses values out of range. The lease itself checks that its times are safe together.
func (s *settings) checkBounds() error {
	if err := s.checkRules(); err != nil {
		return err
	}
	if s.cfg.LeaseTime > s.cfg.MaxLeaseTime {
		return badConfig("%s %v: lease-time <= max-lease-time must hold, and %s is %v; lower the first or raise the "+
			"second", s.name("lease-time"), s.cfg.LeaseTime, s.name("max-lease-time"), s.cfg.MaxLeaseTime)
	}
	l := &s.cfg.Limits
	if most := min(l.Conns, l.Requests) / 2; l.Reserved > most {
		return badConfig("%s %d: must be at most %d, half of the smaller of max-connections and max-requests",
			s.name("reserved-for-operators"), l.Reserved, most)
	}
	return nil
}

func (s *settings) checkListeners() error {
	if s.cfg.ClientAddr == "" {
		return badConfig("%s: is empty; use %s", s.name("client"), defaultClient)
	}
	taken := map[string]string{}
	for _, l := range []struct{ flag, addr string }{{"client", s.cfg.ClientAddr}, {"peer", s.cfg.PeerAddr},
		{"admin", s.cfg.AdminAddr}, {"redis", s.cfg.RedisAddr}, {"health", s.cfg.HealthAddr}} {
		if l.addr == "" {
			continue
		}
		if o := taken[l.addr]; o != "" && !strings.HasSuffix(l.addr, ":0") {
			return badConfig("%s %s: is the address of %s too; give each its own", s.name(l.flag), l.addr, s.name(o))
		}
		taken[l.addr] = l.flag
		if err := s.checkLoopback(l.flag, l.addr); err != nil {
			return err
		}
	}
	return nil
}

// checkLoopback refuses an address that other machines could reach, unless the listener is protected or --insecure
// allows it. A name other than localhost counts as such an address: its meaning may change.
func (s *settings) checkLoopback(flag, addr string) error {
	if s.cfg.Insecure || flag == "health" { // which says nothing that is secret, and whose host was given
		return nil
	}
	name := s.name(flag)
	if !s.given(flag) && flag == "peer" && s.given("cluster") {
		name = "this node's address in " + s.name("cluster")
	}
	if _, _, err := splitAddress(addr); err != nil {
		return badConfig("%s: %v", name, err)
	}
	if !isLoopback(addr) {
		return s.checkProtected(flag, name, addr)
	}
	return nil
}

// isLoopback reports whether addr is one that no other machine can reach.
func isLoopback(addr string) bool {
	host, _, err := splitAddress(addr)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// checkProtected refuses a listener that other machines could reach without the protection it needs. name is the user's
// name for the setting.
func (s *settings) checkProtected(flag, name, addr string) error {
	why, give := "there is no TLS", ""
	secret := s.tls.clients.Cert != ""
	clients := flag == "client" || flag == "redis"
	switch {
	case flag == "admin":
	case clients && s.cfg.ACL && !secret:
		why, give = "tokens could be read on the way", "give --tls-cert and --tls-key, "
	case clients && !s.cfg.ACL && secret:
		why, give = "whoever reaches it could read and write", "give --acl, "
	case clients && !secret:
		why, give = "whoever reaches it could read and write", "give --tls-cert, --tls-key and --acl, "
	case flag == "peer" && s.tls.forPeers().IsZero():
		give = "give --tls-cert, --tls-key and --tls-ca, "
	default:
		return nil
	}
	return badConfig("%s %s: may be reachable from other machines, and %s; %suse a loopback address, or accept it "+
		"with --insecure", name, addr, why, give)
}
