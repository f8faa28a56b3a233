package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenure/internal/certs"
	"tenure/internal/ownfile"
	"tenure/internal/shown"
	"tenure/server"
	"tenure/server/recovery"
)

// newRejoin is for a node whose data directory cannot be used any more.
func newRejoin(environ []string, stderr io.Writer) *cobra.Command {
	s := newSettings()
	s.anew = true
	cmd := &cobra.Command{
		Use:   "rejoin [--join HOST:PORT] [FLAGS]",
		Short: "Join again, in place of oneself, with a data directory that is damaged",
		Long: "Move all files of the data directory aside, into DIR/aside-DATE-TIME, where they are kept; then join the\n" +
			"cluster and take the place that this node had in it. It is the same as starting a node with --join and\n" +
			"--replace on an empty directory, and runs until it is stopped, with --stop-when-ready until the node serves\n" +
			"clients. From then on start it as before, also if that is with --id and --cluster: the node has another\n" +
			"number then, and its directory knows which one is meant. If the cluster has no member of that name any more,\n" +
			"it joins as a further one.\n\n" +
			"A directory that is in use is refused, and so is one with which the node could go on. Another cluster than\n" +
			"the one that the node was in refuses it. The other flags are those of kvnode itself. Without --join it asks\n" +
			"the members that --cluster or the directory names.",
		Example: "  runuser -u kvnode -- kvnode rejoin --stop-when-ready --config /etc/kvnode.toml\n" +
			"  kvnode rejoin --data ./node3 --join 127.0.0.1:8300 --peer 127.0.0.1:8302 --client 127.0.0.1:8502",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := s.rejoin(environ)
			if err != nil {
				return err
			}
			aside, err := recovery.SetAside(cfg.Data, s.giveUp, time.Now())
			if err != nil {
				return err
			}
			if aside != "" {
				fmt.Fprintf(shown.Writer(stderr), "kvnode: the files of %s are in %s now; remove them once %s is back\n",
					cfg.Data, aside, cfg.Replace)
			}
			err = runNode(cmd.Context(), cfg, s, stderr)
			if errors.Is(err, server.ErrNoSuchMember) && s.givenName == "" { // it was removed, or the cluster was made anew without it
				fmt.Fprintf(shown.Writer(stderr), "kvnode: no member is named %s any more: it joins as a further one\n",
					cfg.Replace)
				cfg.Replace = ""
				err = runNode(cmd.Context(), cfg, s, stderr)
			}
			return err
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&s.giveUp, "give-up", false, "also if the directory is whole, and into any cluster: its own is "+
		"no more, or the node was removed from it")
	cmd.Flags().BoolVar(&s.onlyReady, stopWhenReady, false, "stop in order once the node is ready: its service goes on "+
		"with the directory")
	cmd.Flags().AddFlagSet(s.flags)
	return cmd
}

const stopWhenReady = "stop-when-ready"

// isThere returns an error if nobody listens at the address of a member, or it is one for clients: then no file is
// moved. Who speaks HTTP answers a bad request; a port for peers ends the connection.
func isThere(address string) error {
	c, err := net.DialTimeout("tcp", address, dialTimeout)
	if err != nil {
		return badConfig("rejoin: --join %s cannot be reached, and nothing was moved: %v", address, err)
	}
	defer c.Close()
	answer := make([]byte, 5)
	if err := c.SetDeadline(time.Now().Add(dialTimeout)); err != nil {
		return err
	}
	if _, err := io.WriteString(c, "\r\n\r\nGET\r\n\r\n"); err == nil {
		_, _ = io.ReadFull(c, answer)
	}
	if string(answer) == "HTTP/" {
		return badConfig("rejoin: --join %s is a port for clients, and nothing was moved: give a member's address for peers, "+
			"as kvctl member list shows it", address)
	}
	return nil
}

// dialTimeout is how long rejoin waits for the address of --join.
const dialTimeout = 5 * time.Second

// rejoin is resolve for a node that takes its own place. Settings for the start of a node without --join, which stay in
// its file, give its identity and the others' addresses here.
func (s *settings) rejoin(environ []string) (server.Config, error) {
	if err := s.collect(environ); err != nil {
		return server.Config{}, err
	}
	if s.cfg.Replace != "" || s.cfg.NonVoter || s.cfg.Spare {
		return server.Config{}, badConfig("rejoin: takes the place that the node had; leave out --replace, " +
			"--non-voter and --spare, or start kvnode with them and an empty directory")
	}
	was, err := recovery.FormerOf(s.cfg.Data)
	if err != nil {
		return server.Config{}, err
	}
	if !s.given("id") && was.Node != 0 {
		s.cfg.Node, s.known = was.StartedAs(), true
	}
	if err := s.checkCluster(); s.given("cluster") && err != nil {
		return server.Config{}, err
	}
	certified, leaf, err := s.certified()
	if err != nil {
		return server.Config{}, err
	}
	s.givenName = s.cfg.NodeName
	s.cfg.Replace = or(s.cfg.NodeName, was.Name)
	if _, err := os.Stat(s.cfg.Data); s.cfg.Replace == "" && err != nil {
		return server.Config{}, badConfig("rejoin: cannot look into %s: %v; check --data, or name the node with --node-name, "+
			"as kvctl member list does", s.cfg.Data, err)
	}
	if s.cfg.Replace = or(s.cfg.Replace, certified); s.cfg.Replace == "" && (s.given("id") || was.Node != 0) {
		s.cfg.Replace = fmt.Sprintf("node-%d", s.cfg.Node)
	}
	if s.cfg.Replace == "" {
		return server.Config{}, badConfig("rejoin: %s does not say which node it is of; name the node with "+
			"--node-name, as kvctl member list does", s.cfg.Data)
	}
	if certified != "" && s.cfg.Replace != certified {
		return server.Config{}, badConfig("rejoin: this node was %s, and the certificate in %s is that of %s: nothing was moved; "+
			"if the node was renamed since (see kvctl member list), give its new name with --node-name; else make a "+
			"certificate where the authority is, with: %s", shown.Word(s.cfg.Replace), s.tls.forPeers().Cert, certified,
			certs.CommandForNode(s.cfg.Replace, leaf))
	}
	s.cfg.NodeName = s.cfg.Replace
	if err := s.chooseMember(was); err != nil {
		return server.Config{}, err
	}
	cfg, err := s.build()
	cfg.StartedAs = was.StartedAs()
	if s.given("id") && s.cfg.Node != was.Node { // whose number is of an earlier rejoin
		cfg.StartedAs = s.cfg.Node
	}
	if !s.giveUp {
		cfg.JoinCluster = was.Cluster
	}
	return cfg, err
}

// certified returns the certificate that this node shows its peers, and the name in it, "" without one.
func (s *settings) certified() (name string, leaf *x509.Certificate, err error) {
	p := s.tls.forPeers()
	if p.Cert == "" || p.Key == "" {
		return "", nil, nil // checkTLS refuses half of it
	}
	f, err := certs.Load(certs.Paths{Cert: p.Cert, Key: p.Key}, nil)
	if err != nil {
		return "", nil, badConfig("rejoin: nothing was moved: %v", ownfile.Unreadable(err))
	}
	id, err := certs.IdentityOf(f.Certificate().Leaf)
	if err != nil {
		return "", nil, badConfig("rejoin: nothing was moved: %s: %v", p.Cert, err)
	}
	return id.Name, f.Certificate().Leaf, nil
}

// chooseMember makes sure that the address of --join is one at which a member may be. Without --join it takes the first
// one that answers of the other members' addresses, which --cluster or the directory has.
func (s *settings) chooseMember(was recovery.Former) error {
	if s.cfg.Join != "" {
		return isThere(s.cfg.Join)
	}
	others := s.otherMembers(was)
	if len(others) == 0 {
		return badConfig("rejoin: give the address of a member with --join HOST:PORT")
	}
	for _, addr := range others {
		if isThere(addr) == nil {
			s.cfg.Join = addr
			return nil
		}
	}
	return badConfig("rejoin: nobody answers at %s, and nothing was moved; give the address of a member that runs with "+
		"--join HOST:PORT", strings.Join(others, ", "))
}
