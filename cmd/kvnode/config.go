package main

import (
	"path/filepath"
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/server"
)

// build returns the server's configuration, without what only a running process has.
func (s *settings) build() (server.Config, error) {
	for _, check := range []func() error{
		s.identify, s.checkJoin, s.checkCluster, s.checkTimes, s.checkSizes, s.checkLimits, s.fillPeer, s.checkTLS, s.checkListeners,
		s.checkAdvertised, s.checkArchive, s.checkAccess,
	} {
		if err := check(); err != nil {
			return server.Config{}, err
		}
	}
	cluster := slices.Clone(s.cluster)
	if s.anew {
		cluster = nil
	}
	slices.SortFunc(cluster, func(a, b server.Address) int { return int(a.Node) - int(b.Node) })
	command, why := guardianCommand, ""
	if !s.guardian {
		command, why = nil, "switched off by --guardian=false"
	}
	id := s.id
	if s.join != "" && !s.known && !s.given("id") || s.anew {
		id = 0
	}
	archived, err := s.archived()
	if err != nil {
		return server.Config{}, err
	}
	return server.Config{
		Archive:       archived,
		Guardian:      command,
		NoGuardian:    why,
		Node:          id,
		NodeName:      s.nodeName,
		Cluster:       cluster,
		Data:          filepath.Clean(s.data),
		ClientAddr:    s.client,
		PeerAddr:      s.peer,
		PeerOptional:  s.peerOptional,
		FounderWait:   s.founderWait(),
		AdminAddr:     s.admin,
		RedisAddr:     s.redis,
		HealthAddr:    s.health,
		LeaseTime:     s.leaseTime,
		MaxLeaseTime:  s.maxLease,
		ClockDriftPPM: s.driftPPM,
		LeaseMargin:   s.margin,
		MaxValueBytes: int(s.maxValue),
		SlowRequest:   s.slowRequest,
		SessionTTLMin: s.ttlMin,
		QuotaBytes:    s.quota,
		MaxLeases:     s.maxLeases,
		Limits:        s.limits,
		Insecure:      s.insecure,
		AllowedHosts:  s.hosts,
		TLS:           s.serverTLS(),
		ACL:           s.access.acl,
		Audit:         s.serverAudit(),

		WatchHistoryBytes: s.history,
		UpgradeAfter:      s.upgradeAfter,
		PeerAdvertise:     s.advertisePeer,
		ClientAdvertise:   s.advertisedClient(),

		Join: s.join, Replace: s.replace, Rejoin: s.rejoins && !s.anew, NonVoter: s.nonVoter, Spare: s.spare, ReplaceAfter: s.replaceAfter,
	}, nil
}

// founderWait is 0 if the node listens for no others, or just in case, at an address that none on another machine can
// reach.
func (s *settings) founderWait() time.Duration {
	if s.peer == "" || s.peerOptional {
		return 0
	}
	return server.FounderWait
}

// fillPeer decides where this node listens for its peers. A node that runs alone listens at its address in the list, so
// that others can join, if the address is free and on loopback. A member that is started without --cluster takes the
// others from its data directory.
func (s *settings) fillPeer() error {
	switch {
	case s.anew:
		s.advertisePeer = or(s.advertisePeer, s.address(s.id))
		s.peer = or(s.peer, or(s.address(s.id), defaultPeer))
	case s.join != "", !s.given("cluster") && s.member && !s.alone:
		s.peer = or(s.peer, defaultPeer)
	case !s.given("cluster"):
		s.cluster = []server.Address{{Node: s.id, Addr: or(s.peer, defaultPeer)}}
		s.peerIfFree()
	case len(s.cluster) == 1:
		s.peerIfFree()
	case s.peer == "":
		s.peer = s.address(s.id)
	}
	return nil
}

// peerIfFree has a node that runs alone and was not given --peer listen at its address in the list, unless that is
// beyond loopback, where it must be asked to, or needed for something else.
func (s *settings) peerIfFree() {
	addr := s.address(s.id)
	if s.peer == "" && isLoopback(addr) && !slices.Contains([]string{s.client, s.admin, s.redis, s.health}, addr) {
		s.peer, s.peerOptional = addr, true
	}
}

func (s *settings) address(id ballot.NodeID) string {
	for _, a := range s.cluster {
		if a.Node == id {
			return a.Addr
		}
	}
	return ""
}

func or(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}
