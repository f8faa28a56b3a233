package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenure/api"
	"tenure/client"
	"tenure/internal/shown"
)

// joinPoll is how often member add looks whether the node has joined.
const joinPoll = 250 * time.Millisecond

// memberAdd is one run of member add.
type memberAdd struct {
	memberChange
	wait bool
}

func newMemberAdd(a *app) *cobra.Command {
	m := &memberAdd{memberChange: memberChange{app: a, kind: client.ChangeAdd}}
	cmd := &cobra.Command{
		Use:   "add",
		Short: "Say how to add a node, and wait for it",
		Long: "Say what adding a node does, and print the command that does it: a node is added by starting it with\n" +
			"kvnode --join on an empty directory. It asks by itself, gets the next number, and becomes a voter\n" +
			"once it is caught up, unless it is started with --non-voter. With --wait, kvctl waits until a node\n" +
			"of the name given has joined and is what it is to be.",
		Example: "  kvctl member add --name node-4 --peer 10.0.0.4:8300 --client 10.0.0.4:8500\n" +
			"  kvctl member add --name node-4 --wait",
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.noReadMode(); err != nil {
				return err
			}
			if m.wait && m.change.Name == "" {
				return usage("--wait: give the name of the node with --name")
			}
			c, err := a.client(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.bounded(cmd)
			defer cancel()
			return m.run(ctx, c)
		},
	}
	f := cmd.Flags()
	f.StringVar(&m.change.Name, "name", "", "name of the new node (default: node-N, N being the number that it gets)")
	f.StringVar(&m.change.PeerAddress, "peer", "", "HOST:PORT at which the other nodes will reach it")
	f.StringVar(&m.change.ClientAddress, "client", "", "HOST:PORT at which clients will reach it")
	f.BoolVar(&m.change.NonVoter, "non-voter", false, "it is to stay a non-voter")
	f.BoolVar(&m.dryRun, "dry-run", false, "the same without --wait")
	f.BoolVar(&m.wait, "wait", false, "wait until the node has joined")
	a.timeoutFlag(cmd, "with --wait, how long (default: no limit)")
	return cmd
}

// added is what member add prints with --json.
type added struct {
	Plan     client.MemberPlan `json:"plan"`
	Command  string            `json:"command"`
	Settings []string          `json:"settings"` // lines of kvnode.toml that do the same
}

func (m *memberAdd) run(ctx context.Context, c *client.Client) error {
	if m.wait && !m.dryRun && m.isThere(ctx, c) {
		return m.await(ctx, c)
	}
	p, err := c.Members().Plan(ctx, m.kind, m.change)
	if why := (*client.StatusError)(nil); m.wait && errors.As(err, &why) && why.Code == api.CodeMemberBusy {
		m.app.note("%v", err) // that may be the addition to wait for
		return m.await(ctx, c)
	}
	if err != nil {
		return err
	}
	join := m.app.joinAddress(ctx, c)
	command, settings := m.command(m.app.joinCommand(join)), m.settings(join)
	err = m.app.print(added{p, command, settings}, func(w io.Writer) error {
		if err := writePlan(w, p); err != nil {
			return err
		}
		_, err := fmt.Fprintf(w, "\nstart the node, on an empty directory:\n  %s\n%s\n  %s\n", command, fromPackage,
			strings.Join(settings, "\n  "))
		return err
	})
	if err != nil || !m.wait || m.dryRun {
		return err
	}
	return m.await(ctx, c)
}

// command returns how to start the node.
func (m *memberAdd) command(join string) string {
	for _, f := range []struct{ flag, value string }{
		{"--node-name", m.change.Name}, {"--peer", cmp.Or(m.change.PeerAddress, "HOST:PORT")},
		{"--client", cmp.Or(m.change.ClientAddress, "HOST:PORT")},
	} {
		if f.value != "" {
			join += " " + f.flag + " " + shown.Word(f.value)
		}
	}
	if m.change.NonVoter {
		join += " --non-voter"
	}
	return join
}

// settings returns the lines of kvnode.toml that start the node as command does. A package's file has a data directory
// and an address for clients.
func (m *memberAdd) settings(join string) []string {
	lines := []string{fmt.Sprintf("join = %q", join), fmt.Sprintf("peer = %q", cmp.Or(m.change.PeerAddress, "HOST:PORT"))}
	if m.change.ClientAddress != "" {
		lines = append(lines, fmt.Sprintf("client = %q   # in place of the other one", m.change.ClientAddress))
	}
	if m.change.Name != "" {
		lines = append(lines, fmt.Sprintf("node-name = %q", m.change.Name))
	}
	if m.change.NonVoter {
		lines = append(lines, "non-voter = true")
	}
	if m.app.joinsOpenly(join) {
		lines = append(lines, "insecure = true")
	}
	return lines
}

// isThere reports whether a member has the name already.
func (m *memberAdd) isThere(ctx context.Context, c *client.Client) bool {
	l, err := c.Members().List(ctx)
	return err == nil && slices.ContainsFunc(l.Members, func(x client.Member) bool { return x.Name == m.change.Name })
}

// await waits until a member of that name is there, and the operation that added it has ended.
func (m *memberAdd) await(ctx context.Context, c *client.Client) error {
	show := &operationProgress{printer: &m.app.printer}
	m.app.note("waiting for a node named %s", m.change.Name)
	return poll(ctx, joinPoll, func() (done bool, err error) {
		l, err := c.Members().List(ctx)
		if errors.Is(err, client.ErrUnavailable) {
			return false, nil // ctx ends it
		}
		if err != nil {
			return false, err
		}
		i := slices.IndexFunc(l.Members, func(x client.Member) bool { return x.Name == m.change.Name })
		if i < 0 {
			return false, nil
		}
		x := l.Members[i]
		for _, o := range l.Operations {
			if o.State == client.OperationRunning && (o.Node == x.Node || o.By == x.Node) {
				show.seen(l, o)
				return false, nil
			}
		}
		return true, m.app.printf(x, "node %d, %s, is a %s\n", x.Node, x.Name, roleOf(x, l))
	})
}

// joinAddress returns the address at which a node joins the cluster. If no node listens for that, a note says what to
// do first.
func (a *app) joinAddress(ctx context.Context, c *client.Client) string {
	address := "HOST:PORT"
	if l, err := c.Members().List(ctx); err == nil {
		for _, x := range l.Members {
			if x.PeerAddress != "" && (x.Node == l.Master || address == "HOST:PORT") {
				address = x.PeerAddress
			}
		}
		if note, ok := unjoinable(l); ok && address == "HOST:PORT" {
			a.note("%s", note)
		}
	}
	return address
}

// joinCommand returns the beginning of the command that starts a node which joins the cluster at that address.
func (a *app) joinCommand(address string) string {
	command := "kvnode --data DIR --join " + shown.Word(address)
	switch {
	case a.overTLS(): // as the other nodes, with a certificate that kvctl ca node makes
		command += " --tls-cert FILE --tls-key FILE --tls-ca FILE"
		a.note("leave out --tls-ca if only clients use TLS, and the other nodes have no --tls-ca either")
		if secret, file, err := a.clientToken(); err == nil && secret+file != "" {
			command += " --acl"
		}
	case a.joinsOpenly(address):
		command += " --insecure"
	}
	return command
}

// joinsOpenly reports whether a node that joins at that address can be reached by others without TLS.
func (a *app) joinsOpenly(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && !a.overTLS() && !isLoopback(host)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
