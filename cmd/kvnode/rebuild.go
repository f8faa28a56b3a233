package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"tenure/server"
	"tenure/server/recovery"
)

// withCommand adds to an error that says that the data is damaged what to type to have the node rebuilt from the
// others.
func (s *settings) withCommand(err error) error {
	if !errors.Is(err, server.ErrDamaged) {
		return err
	}
	if s.wasAlone() {
		return fmt.Errorf("%w; it was alone in its cluster: make a new one of a backup, with kvnode restore FILE "+
			"--data DIR", err)
	}
	return fmt.Errorf("%w; to rebuild it from the other members: %s", err, s.rejoinCommand())
}

// rejoinCommand is the command line of kvnode rejoin for this node. What was set by the environment or a file counts
// again.
func (s *settings) rejoinCommand() string {
	args := []string{"kvnode", "rejoin", "--join", s.anotherMember()}
	add := func(name, value string) { args = append(args, "--"+name, quoted(value)) }
	if name, err := recovery.NameOf(s.data); s.nodeName == "" && err == nil && name == "" {
		add("node-name", fmt.Sprintf("node-%d", s.id)) // the directory does not say
	}
	if !s.given("peer") {
		add("peer", or(s.peer, or(s.address(s.id), defaultPeer)))
	}
	s.flags.VisitAll(func(f *pflag.Flag) {
		switch f.Name {
		case "id", "cluster", "join", "replace", "non-voter", "spare", "replace-after":
			return // it takes the place that it had
		}
		if s.given(f.Name) && strings.HasPrefix(s.origin[f.Name], "--") {
			if f.NoOptDefVal != "" { // what follows a bare flag would be an argument
				args = append(args, "--"+f.Name+"="+f.Value.String())
			} else {
				add(f.Name, f.Value.String())
			}
		}
	})
	return strings.Join(args, " ")
}

// wasAlone reports whether the data directory can be read so far, and says that the node had a cluster to itself.
func (s *settings) wasAlone() bool {
	id, ok, err := server.Identify(s.data)
	return err == nil && ok && len(id.Membership.Members) == 1
}

// anotherMember returns an address for peers at which another member may be: of the command line, else of the data
// directory, as far as that can be read.
func (s *settings) anotherMember() string {
	if s.join != "" {
		return s.join
	}
	for _, a := range s.cluster {
		if a.Node != s.id {
			return a.Addr
		}
	}
	if id, ok, err := server.Identify(s.data); err == nil && ok {
		for _, m := range id.Membership.Members {
			if m.Node != id.Node && m.PeerAddr != "" {
				return m.PeerAddr
			}
		}
	}
	return "HOST:PORT"
}

// quoted returns a word for a shell.
func quoted(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n'\"\\$`*?[]{}()<>|&;#~!") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
