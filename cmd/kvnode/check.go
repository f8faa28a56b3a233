package main

import (
	"fmt"
	"net"
	"strings"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

const (
	maxDriftPPM       = 100_000
	minLeaseTime      = 50 * time.Millisecond
	maxLeaseTimeLimit = time.Hour
	maxLeaseMargin    = time.Minute
	maxLeasesLimit    = 1 << 28 // named.LargestTable
	minHistory        = 64 << 10
	maxHistory        = 1 << 30
)

func (s *settings) checkCluster() error {
	if !s.given("cluster") {
		if s.id != 1 && s.join == "" && !s.member {
			return badConfig("%s %d: a node without --cluster runs alone, as node 1; list all nodes with --cluster, "+
				"or this one only with --cluster %d=%s, or join a cluster with --join", s.name("id"), s.id, s.id,
				or(s.peer, defaultPeer))
		}
		return nil
	}
	cluster := s.name("cluster")
	if n := len(s.cluster); n > quorum.MaxVoters {
		return badConfig("%s: lists %d nodes; list at most %d", cluster, n, quorum.MaxVoters)
	}
	nodes, addrs := map[ballot.NodeID]bool{}, map[string]ballot.NodeID{}
	var ids []string
	for _, a := range s.cluster {
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
	if len(s.cluster) > 1 && !s.given("id") && !s.known {
		return badConfig("%s: lists %d nodes; say with --id which of them this one is", cluster, len(s.cluster))
	}
	if !nodes[s.id] && s.known {
		return badConfig("%s: lists %s, but %s is the data directory of node %d; add %d=HOST:PORT to the list, or leave it "+
			"out", cluster, strings.Join(ids, ", "), s.data, s.id, s.id)
	}
	if !nodes[s.id] {
		return badConfig("%s %d: is not in %s, which lists %s; add %d=HOST:PORT to it or use one of those",
			s.name("id"), s.id, cluster, strings.Join(ids, ", "), s.id)
	}
	return nil
}

// checkTimes refuses times out of range. The lease itself checks that its times are safe together.
func (s *settings) checkTimes() error {
	switch {
	case s.leaseTime < minLeaseTime:
		return badConfig("%s %v: lease-time >= %v must hold; use 500ms", s.name("lease-time"), s.leaseTime,
			minLeaseTime)
	case s.maxLease > maxLeaseTimeLimit:
		return badConfig("%s %v: max-lease-time <= %v must hold; use 30s", s.name("max-lease-time"), s.maxLease,
			maxLeaseTimeLimit)
	case s.leaseTime > s.maxLease:
		return badConfig("%s %v: lease-time <= max-lease-time must hold, and %s is %v; lower the first or raise the "+
			"second",
			s.name("lease-time"), s.leaseTime, s.name("max-lease-time"), s.maxLease)
	case s.margin > maxLeaseMargin:
		return badConfig("%s %v: lease-margin <= %v must hold; use 10ms", s.name("lease-margin"), s.margin,
			maxLeaseMargin)
	}
	if s.ttlMin < api.MinSessionTTL || s.ttlMin > api.MaxSessionTTL {
		return badConfig("%s %v: %v <= session-ttl-min <= %v must hold; use 10s", s.name("session-ttl-min"), s.ttlMin,
			api.MinSessionTTL, api.MaxSessionTTL)
	}
	return nil
}

func (s *settings) checkSizes() error {
	if s.maxValue < 1 || s.maxValue > api.MaxValueBytes {
		return badConfig("%s %d: 1 <= max-value-bytes <= %d must hold; use 512KiB", s.name("max-value-bytes"),
			s.maxValue, api.MaxValueBytes)
	}
	if s.maxLeases < 1 || s.maxLeases > maxLeasesLimit {
		return badConfig("%s %d: 1 <= max-leases <= %d must hold; use 2000000", s.name("max-leases"), s.maxLeases,
			maxLeasesLimit)
	}
	if s.history < minHistory || s.history > maxHistory {
		return badConfig("%s %d: %d <= watch-history-bytes <= %d must hold; use 4MiB", s.name("watch-history-bytes"),
			s.history, minHistory, maxHistory)
	}
	return nil
}

func (s *settings) checkListeners() error {
	if s.client == "" {
		return badConfig("%s: is empty; use %s", s.name("client"), defaultClient)
	}
	taken := map[string]string{}
	for _, l := range []struct{ flag, addr string }{{"client", s.client}, {"peer", s.peer}, {"admin", s.admin},
		{"redis", s.redis}, {"health", s.health}} {
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
	if s.insecure || flag == "health" { // which says nothing that is secret, and whose host was given
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
	case clients && s.access.acl && !secret:
		why, give = "tokens could be read on the way", "give --tls-cert and --tls-key, "
	case clients && !s.access.acl && secret:
		why, give = "whoever reaches it could read and write", "give --acl, "
	case clients && !secret:
		why, give = "whoever reaches it could read and write", "give --tls-cert, --tls-key and --acl, "
	case flag == "peer" && s.forPeers().IsZero():
		give = "give --tls-cert, --tls-key and --tls-ca, "
	default:
		return nil
	}
	return badConfig("%s %s: may be reachable from other machines, and %s; %suse a loopback address, or accept it "+
		"with --insecure", name, addr, why, give)
}
