package main

import (
	"path/filepath"
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/server"
	"tenure/server/audit"
)

// build returns the server's configuration, without what only a running process has.
func (s *settings) build() (server.Config, error) {
	for _, check := range []func() error{
		s.identify, s.checkJoin, s.checkCluster, s.checkBounds, s.fillPeer, s.checkTLS, s.checkListeners,
		s.checkAdvertised, s.checkArchive, s.checkAccess,
	} {
		if err := check(); err != nil {
			return server.Config{}, err
		}
	}
	cfg := s.cfg
	cfg.Cluster = slices.SortedFunc(slices.Values(cfg.Cluster), func(a, b server.Address) int {
		return int(a.Node) - int(b.Node)
	})
	if s.anew {
		cfg.Cluster, cfg.Rejoin = nil, false
	}
	if cfg.Guardian = guardianCommand; !s.process.guardian {
		cfg.Guardian, cfg.NoGuardian = nil, "switched off by --guardian=false"
	}
	if cfg.Join != "" && !s.known && !s.given("id") || s.anew {
		cfg.Node = 0
	}
	if cfg.Audit.Path == "" {
		cfg.Audit = audit.Config{}
	}
	cfg.Data, cfg.FounderWait = filepath.Clean(cfg.Data), s.founderWait()
	cfg.TLS, cfg.ClientAdvertise = s.tls.server(), s.advertisedClient()
	var err error
	cfg.Archive, err = s.archive.open(&s.sources)
	return cfg, err
}

// founderWait is 0 if the node listens for no others, or just in case, at an address that none on another machine can
// reach.
func (s *settings) founderWait() time.Duration {
	if s.cfg.PeerAddr == "" || s.cfg.PeerOptional {
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
		s.cfg.PeerAdvertise = or(s.cfg.PeerAdvertise, s.address(s.cfg.Node))
		s.cfg.PeerAddr = or(s.cfg.PeerAddr, or(s.address(s.cfg.Node), defaultPeer))
	case s.cfg.Join != "", !s.given("cluster") && s.member && !s.alone:
		s.cfg.PeerAddr = or(s.cfg.PeerAddr, defaultPeer)
	case !s.given("cluster"):
		s.cfg.Cluster = []server.Address{{Node: s.cfg.Node, Addr: or(s.cfg.PeerAddr, defaultPeer)}}
		s.peerIfFree()
	case len(s.cfg.Cluster) == 1:
		s.peerIfFree()
	case s.cfg.PeerAddr == "":
		s.cfg.PeerAddr = s.address(s.cfg.Node)
	}
	return nil
}

// peerIfFree has a node that runs alone and was not given --peer listen at its address in the list, unless that is
// beyond loopback, where it must be asked to, or needed for something else.
func (s *settings) peerIfFree() {
	addr := s.address(s.cfg.Node)
	others := []string{s.cfg.ClientAddr, s.cfg.AdminAddr, s.cfg.RedisAddr, s.cfg.HealthAddr}
	if s.cfg.PeerAddr == "" && isLoopback(addr) && !slices.Contains(others, addr) {
		s.cfg.PeerAddr, s.cfg.PeerOptional = addr, true
	}
}

func (s *settings) address(id ballot.NodeID) string {
	for _, a := range s.cfg.Cluster {
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
