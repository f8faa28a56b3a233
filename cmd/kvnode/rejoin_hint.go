package main

import (
	"errors"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"tenure/internal/ownfile"
	"tenure/internal/shown"
	"tenure/server"
	"tenure/server/recovery"
)

// withAdvice adds to an error that says that the data is damaged or lost what to type to have the node rebuilt from the
// others, and to one about a directory that the node's unit protects how to have it let the node write.
func (s *settings) withAdvice(err error) error {
	if errors.Is(err, syscall.EROFS) {
		return s.withUnit(err)
	}
	if !errors.Is(err, server.ErrDamaged) && !errors.Is(err, server.ErrWiped) {
		return err
	}
	if s.wasAlone() {
		return &adviceError{err, []string{"it was alone in its cluster: make a new one of a backup, with:",
			ownfile.AsOwner(s.cfg.Data) + "kvnode restore FILE --data DIR"}}
	}
	return &adviceError{err, []string{"to rebuild it from the other members:", s.rejoinCommand()}}
}

// rejoinCommand is the command line of kvnode rejoin for this node. What was set by the environment or a file counts
// again. A service is told to stop when it is ready: its supervisor starts it from then on.
func (s *settings) rejoinCommand() string {
	was, _ := recovery.FormerOf(s.cfg.Data)
	args := []string{"kvnode", "rejoin", "--join", "HOST:PORT"}
	if s.cfg.Join != "" {
		args[3] = s.cfg.Join
	} else if others := s.otherMembers(was); len(others) > 0 {
		args[3] = others[0]
	}
	add := func(name, value string) { args = append(args, "--"+name, shown.Word(value)) }
	if s.cfg.NodeName == "" && was.Node == 0 && !s.given("id") { // neither says
		args = append(args, "--node-name", "NAME")
	}
	if !s.given("peer") && s.address(s.cfg.Node) == "" {
		add("peer", or(s.cfg.PeerAddr, defaultPeer))
	}
	s.flags.VisitAll(func(f *pflag.Flag) {
		switch f.Name {
		case "join", "replace", "non-voter", "spare", "replace-after":
			return // it takes the place that it had
		}
		if s.given(f.Name) && strings.HasPrefix(s.origin[f.Name], "--") {
			if f.NoOptDefVal != "" { // what follows a bare flag would be an argument
				args = append(args, "--"+f.Name+"="+shown.Word(f.Value.String()))
			} else {
				add(f.Name, f.Value.String())
			}
		}
	})
	if as := ownfile.AsOwner(s.cfg.Data); as != "" { // a service, which its supervisor starts again
		return as + strings.Join(args, " ") + " --" + stopWhenReady
	}
	return strings.Join(args, " ")
}

// wasAlone reports whether the data directory can be read so far, and says that the node had a cluster to itself.
func (s *settings) wasAlone() bool {
	id, ok, err := server.Identify(s.cfg.Data)
	return err == nil && ok && len(id.Membership.Members) == 1
}

// otherMembers returns the addresses for peers at which other members may be: of the command line, else of the data
// directory.
func (s *settings) otherMembers(was recovery.Former) (addrs []string) {
	for _, a := range s.cfg.Cluster {
		if a.Node != s.cfg.Node && a.Addr != "" {
			addrs = append(addrs, a.Addr)
		}
	}
	if len(addrs) > 0 {
		return addrs
	}
	for _, m := range was.Membership.All() {
		if m.Node != was.Node && m.PeerAddr != "" {
			addrs = append(addrs, m.PeerAddr)
		}
	}
	return addrs
}
