package main

import (
	"errors"
	"io/fs"
	"net"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/shown"
	"tenure/server"
)

// Bounds of --replace-after: below the least, a restart would cost a voter its place.
const (
	minReplaceAfter = time.Second
	maxReplaceAfter = 30 * 24 * time.Hour
)

// identify takes from the data directory which node this is, if the command line does not say it. A node that took its
// own place again has another number since, and its command line may still have the old one: identify corrects it.
func (s *settings) identify() error {
	if s.anew || s.unseen {
		return nil
	}
	id, ok, err := server.Identify(s.cfg.Data)
	if errors.Is(err, fs.ErrPermission) {
		return err // before any other file is made, such as the audit log
	}
	if err != nil || !ok || id.Node == 0 {
		if s.given("id") && s.given("cluster") {
			return nil // there is no need to know, and what is wrong with the directory is found when it is opened
		}
		return err
	}
	if id.StartedAs != 0 && (!s.given("id") || s.cfg.Node == id.StartedAs || s.cfg.Node == id.Node) {
		s.renumber(id.StartedAs, id.Node)
		s.cfg.Node = id.Node
	}
	if !s.given("id") {
		s.cfg.Node, s.known = id.Node, true
	}
	if !s.given("id") || !s.given("cluster") {
		s.member, s.alone = id.Formed, isAlone(id.Membership, s.cfg.Node)
	}
	return nil
}

// renumber gives the entry of node was in --cluster the number that the node has now, unless that has an entry.
func (s *settings) renumber(was, now ballot.NodeID) {
	if s.address(now) != "" {
		return
	}
	for i := range s.cfg.Cluster {
		if s.cfg.Cluster[i].Node == was {
			s.cfg.Cluster[i].Node = now
		}
	}
}

// isAlone reports whether a membership is what a node without --cluster founds.
func isAlone(m ident.Membership, id ballot.NodeID) bool {
	_, _, lists := m.Find(id)
	return m.Number == 1 && m.Change == 0 && len(m.Members) == 1 && lists
}

// checkJoin refuses what contradicts --join, or needs it.
func (s *settings) checkJoin() error {
	if s.cfg.Rejoin && !s.anew && !s.given("cluster") {
		return badConfig("%s: is for a node that is started with --cluster; one that joins with --join takes a place again "+
			"with --replace", s.name("rejoin"))
	}
	if s.cfg.Join == "" {
		for _, f := range []struct {
			name string
			set  bool
		}{
			{"replace", s.cfg.Replace != ""}, {"non-voter", s.cfg.NonVoter}, {"spare", s.cfg.Spare},
			{"replace-after", s.cfg.ReplaceAfter != 0},
		} {
			if f.set {
				return badConfig("%s: says as what a node joins a cluster; give a member's address with --join",
					s.name(f.name))
			}
		}
		return nil
	}
	join := s.name("join")
	switch {
	case s.anew: // the settings of its start stay where they are
	case s.given("cluster"):
		return badConfig("%s: excludes %s, since the cluster tells a node that joins who its members are; leave out one "+
			"of them", join, s.name("cluster"))
	case s.given("id") && !s.member:
		return badConfig("%s: the cluster gives a node that joins its id; leave out %s", join, s.name("id"))
	case s.cfg.Replace != "" && (s.cfg.NonVoter || s.cfg.Spare):
		return badConfig("%s: makes this node a voter, and %s does not; leave out one of them", s.name("replace"),
			s.name(pick(s.cfg.Spare, "spare", "non-voter")))
	case s.cfg.Spare && s.cfg.NonVoter:
		return badConfig("%s: is a non-voter already; leave out %s", s.name("spare"), s.name("non-voter"))
	case s.cfg.ReplaceAfter != 0 && !s.cfg.Spare:
		return badConfig("%s: is for a spare; add --spare", s.name("replace-after"))
	case s.cfg.ReplaceAfter != 0 && (s.cfg.ReplaceAfter < minReplaceAfter || s.cfg.ReplaceAfter > maxReplaceAfter):
		return badConfig("%s %v: %v <= replace-after <= %v must hold, or 0 for never; use 10m", s.name("replace-after"),
			s.cfg.ReplaceAfter, minReplaceAfter, maxReplaceAfter)
	}
	return nil
}

// tellReplace logs what --replace does at this start, and that it may stay behind: then a directory that is empty
// later, maybe because its disk is not mounted, costs its node's place without a word of an operator.
func (s *settings) tellReplace(log zerolog.Logger) {
	if s.cfg.Replace == "" || s.anew {
		return
	}
	const after = "while it is set, an empty directory is filled from the other members without a question"
	if s.member {
		log.Info().Msgf("%s %s: has no effect on a directory that is a member's, and can be removed: %s",
			s.name("replace"), shown.Word(s.cfg.Replace), after)
		return
	}
	log.Warn().Msgf("%s %s: this node takes the place of %[2]s, with a copy of the state of the others; remove the "+
		"setting once the node is a member: %s", s.name("replace"), shown.Word(s.cfg.Replace), after)
}

// checkAdvertised refuses to join with addresses at which the others could not reach this node. They are told the
// addresses that it listens on, unless others are advertised.
func (s *settings) checkAdvertised() error {
	if s.cfg.Join == "" {
		return nil
	}
	if s.cfg.Join == or(s.cfg.PeerAdvertise, s.cfg.PeerAddr) {
		return badConfig("%s %s: is this node's own address; give that of a member", s.name("join"), s.cfg.Join)
	}
	for _, a := range []struct{ listen, addr, advertise, advertised string }{
		{"peer", s.cfg.PeerAddr, "advertise-peer", s.cfg.PeerAdvertise},
		{"client", s.cfg.ClientAddr, "advertise-client", s.advertisedClient()},
	} {
		if reachable, err := isReachable(a.addr); err == nil && !reachable && a.advertised == "" {
			return badConfig("%s %s: others cannot reach a node there; say with --%s HOST:PORT where they can",
				s.name(a.listen), a.addr, a.advertise)
		}
	}
	return nil
}

// advertisedClient returns the address for clients that this node tells, "" for that of --client. A node that listens
// on all interfaces is reached by clients on the host on which its peers reach it.
func (s *settings) advertisedClient() string {
	if s.cfg.ClientAdvertise != "" {
		return s.cfg.ClientAdvertise
	}
	host, port, err := splitAddress(s.cfg.ClientAddr)
	if ip := net.ParseIP(host); err != nil || port == 0 || host != "" && (ip == nil || !ip.IsUnspecified()) {
		return ""
	}
	host, _, err = net.SplitHostPort(or(s.cfg.PeerAdvertise, s.address(s.cfg.Node)))
	if err != nil {
		return ""
	}
	return net.JoinHostPort(host, s.cfg.ClientAddr[strings.LastIndexByte(s.cfg.ClientAddr, ':')+1:])
}

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}
