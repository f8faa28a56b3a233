//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tenure/api"
	"tenure/client"
	"tenure/internal/devcluster"
	"tenure/internal/lostfound"
	"tenure/internal/process"
)

const devMembersLimit = time.Minute // default of --timeout of what changes the members

// removedGrace is the time in which a node that was removed ends by itself.
var removedGrace = 5 * time.Second

// newMembers returns the commands that change which nodes there are.
func (d *dev) newMembers() []*cobra.Command {
	var nonVoter, spare bool
	add := d.limited("add", "Add a node, which votes as soon as it has caught up", 0,
		func(ctx context.Context, _ []string) error {
			return d.add(ctx, nonVoter, spare)
		})
	add.Long = "Start one more node, on the next ports that are free, and wait until it votes. It gets the flags that the\n" +
		"other nodes were given behind --."
	add.Flags().BoolVar(&nonVoter, "non-voter", false, "it follows the log, and never votes")
	add.Flags().BoolVar(&spare, "spare", false, "it is a non-voter that may take the place of a voter that is lost")
	add.MarkFlagsMutuallyExclusive("non-voter", "spare")
	remove := d.limited("remove N", "Remove a node from the cluster, and end it", 1, d.remove)
	remove.Long = "Remove a node from the cluster as kvctl member remove does, and wait until its process has ended. Its data\n" +
		"directory stays where it is."
	wipe := d.onNodes("wipe", "Kill nodes with SIGKILL and delete their data directories, as if their disks were lost",
		d.each(d.wipe))
	replace := d.limited("replace N", "Start a node that was wiped, in place of the one that it was", 1, d.replace)
	replace.Long = "Start a node on the empty data directory of one that has lost it, with --join and --replace, and wait until\n" +
		"it votes. It keeps its name, its ports and its directory, and gets a new number."
	replace.Example = "  kvctl dev wipe 3\n  kvctl dev replace 3"
	return []*cobra.Command{add, remove, wipe, replace}
}

// limited returns a command that changes the members, under a time limit of its own.
func (d *dev) limited(use, short string, args int, run func(context.Context, []string) error) *cobra.Command {
	limit := devMembersLimit
	cmd := &cobra.Command{Use: use, Short: short, Args: arguments(args, args), RunE: func(cmd *cobra.Command, args []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), limit)
		defer cancel()
		return run(ctx, args)
	}}
	if args > 0 {
		cmd.ValidArgsFunction = d.completeNodes
	}
	durationVar(cmd.Flags(), &limit, "timeout", devMembersLimit, "time limit of all of it")
	return cmd
}

func (d *dev) add(ctx context.Context, nonVoter, spare bool) error {
	s, err := devcluster.Read(d.data)
	if err != nil {
		return err
	}
	join, err := d.running(ctx, s, "")
	if err != nil {
		return err
	}
	n, err := d.nextNode(s)
	if err != nil {
		return err
	}
	who := []string{"--join", join.Peer}
	if nonVoter {
		who = append(who, "--non-voter")
	}
	if spare {
		who = append(who, "--spare")
	}
	if join.CA != "" {
		n.Plan(filepath.Dir(filepath.Dir(join.CA)), fmt.Sprintf("node-%d", n.ID))
		if err := n.MakeFiles(); err != nil {
			return err
		}
	}
	n.Token = join.Token
	if join.Redis != "" {
		if n.Redis, err = nextPort(append(s.Nodes, n), func(x devcluster.Node) string { return x.Redis }); err != nil {
			return err
		}
	}
	n.Args = n.OwnArgs(who, join.MoreArgs()...)
	return d.comeIn(ctx, n, !nonVoter && !spare, "was added")
}

// running returns a node that answers, of which the data directory is not except.
func (d *dev) running(ctx context.Context, s *devcluster.State, except string) (devcluster.Node, error) {
	v, err := d.survey(ctx, s)
	if err != nil {
		return devcluster.Node{}, err
	}
	for _, n := range s.Nodes {
		for _, x := range v {
			if n.Data != except && x.answers() && x.status.Node == uint64(n.ID) && hasRole(x.status) {
				return n, nil
			}
		}
	}
	return devcluster.Node{}, fmt.Errorf("no node in %s answers that another one could join; see kvctl dev status", d.data)
}

// nextNode lays out one more node: on ports behind those of the others, in a directory that was never used.
func (d *dev) nextNode(s *devcluster.State) (devcluster.Node, error) {
	dir, err := filepath.Abs(d.data)
	if err != nil {
		return devcluster.Node{}, err
	}
	n := devcluster.Node{ID: 1}
	for _, x := range s.Nodes {
		n.ID = max(n.ID, x.ID+1)
	}
	for ; ; n.ID++ { // of one that was removed the directory is left
		n.Data = filepath.Join(dir, fmt.Sprintf("node%d", n.ID))
		if _, err := os.Lstat(n.Data); errors.Is(err, os.ErrNotExist) && s.With(n.Data) == nil {
			break
		}
	}
	n.Log = n.Data + ".log"
	if n.Client, err = nextPort(s.Nodes, func(x devcluster.Node) string { return x.Client }); err != nil {
		return n, err
	}
	n.Peer, err = nextPort(append(s.Nodes, n), func(x devcluster.Node) string { return x.Peer })
	return n, err
}

// nextPort returns the first address behind the last of the nodes' that no node has, running or not, and on which
// nothing listens.
func nextPort(nodes []devcluster.Node, of func(devcluster.Node) string) (string, error) {
	host, last := "127.0.0.1", 0
	for _, n := range nodes {
		if of(n) == "" {
			continue
		}
		h, p, err := net.SplitHostPort(of(n))
		if err != nil {
			return "", fmt.Errorf("%s: %w", devcluster.StateName, err)
		}
		if port, _ := strconv.Atoi(p); port > last {
			host, last = h, port
		}
	}
	for port := last + 1; port < 1<<16; port++ {
		addr := net.JoinHostPort(host, strconv.Itoa(port))
		if slices.ContainsFunc(nodes, func(x devcluster.Node) bool {
			return x.Client == addr || x.Peer == addr || x.Redis == addr
		}) {
			continue
		}
		if l, err := net.Listen("tcp", addr); err == nil {
			return addr, l.Close()
		}
	}
	return "", fmt.Errorf("there is no free port behind %d", last)
}

// comeIn starts a node that joins and records it under the number that the cluster gives it. It waits until the node is
// a member, and with voter until it votes.
func (d *dev) comeIn(ctx context.Context, n devcluster.Node, voter bool, what string) error {
	var c startedNode
	err := devcluster.Update(ctx, d.data, func(s *devcluster.State) (err error) {
		if c, err = launch(s.Binary, n); err != nil {
			return err
		}
		n.PID = c.PID
		s.Change(n)
		return nil
	})
	if err != nil {
		return err
	}
	api, err := connect(n, client.Config{Endpoints: []string{n.Client}})
	if err != nil {
		return err
	}
	defer api.Close()
	joined, err := c.await(ctx, hasRole)
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("the node (pid %d) has not joined the cluster yet; see %s", c.PID, n.Log)
		}
		return errors.Join(err, d.forget(context.WithoutCancel(ctx), n.ID, c.PID))
	}
	n.ID = int(joined.Node)
	if err := devcluster.Update(ctx, d.data, func(s *devcluster.State) error { s.Change(n); return nil }); err != nil {
		return err
	}
	if err := awaitMember(ctx, api, n, voter); err != nil {
		return err
	}
	return d.done(n, c.PID, what+", clients on "+n.Client)
}

// hasRole reports whether the node takes part in a cluster.
func hasRole(s client.Status) bool { return s.Role != api.RoleNone }

// awaitMember waits until the node says that it is a member.
func awaitMember(ctx context.Context, of *client.Client, n devcluster.Node, voter bool) error {
	err := poll(ctx, startPoll, func() (bool, error) {
		list, err := of.Members().List(ctx)
		return err == nil && slices.ContainsFunc(list.Members, func(m client.Member) bool {
			return m.Node == uint64(n.ID) && m.Voter == voter
		}), nil
	})
	if err != nil {
		return fmt.Errorf("node %d has joined and does not vote yet: %w; see kvctl status", n.ID, err)
	}
	return nil
}

func (d *dev) remove(ctx context.Context, args []string) error {
	s, nodes, err := d.choose(ctx, args)
	if err != nil {
		return err
	}
	if len(nodes) != 1 || len(s.Nodes) == 1 {
		return usage("dev remove removes one node, and not the last one")
	}
	n := nodes[0]
	if err := d.removeMember(ctx, s, n); err != nil {
		return err
	}
	if err := d.awaitRemoved(ctx, s, n); err != nil {
		return err
	}
	err = devcluster.Update(ctx, d.data, func(s *devcluster.State) error { s.Remove(n.Data); return nil })
	if err != nil {
		return err
	}
	return d.done(n, n.PID, "removed; its data is still in "+n.Data)
}

// removeMember has the cluster remove a node, and waits for it.
func (d *dev) removeMember(ctx context.Context, s *devcluster.State, n devcluster.Node) error {
	if _, err := d.running(ctx, s, ""); err != nil {
		return err
	}
	var endpoints []string
	for _, x := range s.Nodes {
		if x.Data != n.Data && process.Find(s, x).State == process.Running {
			endpoints = append(endpoints, x.Client)
		}
	}
	if len(endpoints) == 0 {
		endpoints = append(endpoints, n.Client)
	}
	c, err := connect(n, client.Config{Endpoints: endpoints})
	if err != nil {
		return err
	}
	defer c.Close()
	op, err := c.Members().Remove(ctx, client.MemberChange{Node: uint64(n.ID)})
	if err != nil {
		return err
	}
	_, err = d.app.awaitOperation(ctx, c, op)
	return err
}

// awaitRemoved waits until a node that was removed has ended, and helps it if it does not end by itself.
func (d *dev) awaitRemoved(ctx context.Context, s *devcluster.State, n devcluster.Node) error {
	if process.Find(s, n).State == process.Gone {
		return nil
	}
	d.app.note("node %d is removed: waits until its process has ended", n.ID)
	grace, cancel := context.WithTimeout(ctx, removedGrace)
	defer cancel()
	_ = poll(grace, endPoll, func() (bool, error) { return process.Find(s, n).State == process.Gone, nil })
	p := process.Find(s, n)
	if p.State == process.Gone {
		return nil
	}
	return p.Signal(ctx, s, n, syscall.SIGKILL, process.Gone)
}

// wipe loses the disk of a node.
func (d *dev) wipe(ctx context.Context, s *devcluster.State, n devcluster.Node, _ bool) error {
	p := process.Find(s, n)
	if p.State == process.Running || p.State == process.Paused {
		if err := d.signalOne(ctx, s, n, p, syscall.SIGKILL); err != nil {
			return err
		}
	}
	if err := d.awaitEnd(ctx, n.ID); err != nil {
		return err
	}
	if err := os.RemoveAll(n.Data); err != nil {
		return err
	}
	return d.done(n, p.PID, "has lost "+n.Data+"; it takes its own place with: "+d.hint("replace", n.ID))
}

func (d *dev) replace(ctx context.Context, args []string) error {
	s, nodes, err := d.choose(ctx, args)
	if err != nil {
		return err
	}
	if len(nodes) != 1 {
		return usage("dev replace replaces one node at a time")
	}
	n := nodes[0]
	if p := process.Find(s, n); p.State != process.Gone {
		return fmt.Errorf("node %d is %v (pid %d); lose its disk first: %s", n.ID, p.State, p.PID, d.hint("wipe", n.ID))
	}
	if files, err := lostfound.ReadDir(n.Data); err == nil && len(files) > 0 {
		return fmt.Errorf("node %d has data in %s; to keep it: %s; to replace the node, lose its disk first: %s",
			n.ID, n.Data,
			d.hint("start", n.ID), d.hint("wipe", n.ID))
	}
	join, err := d.running(ctx, s, n.Data)
	if err != nil {
		return err
	}
	name, err := nameOf(ctx, join, n)
	if err != nil {
		return err
	}
	was := n.ID
	n.Args = n.OwnArgs([]string{"--join", join.Peer, "--replace", name, "--node-name", name}, n.MoreArgs()...)
	return d.comeIn(ctx, n, true, fmt.Sprintf("takes the place of node %d", was))
}

// nameOf asks a node for the name of a member.
func nameOf(ctx context.Context, of, n devcluster.Node) (string, error) {
	c, err := connect(of, client.Config{Endpoints: []string{of.Client}})
	if err != nil {
		return "", err
	}
	defer c.Close()
	list, err := c.Members().List(ctx)
	if err != nil {
		return "", err
	}
	for _, m := range list.Members {
		if m.Node == uint64(n.ID) {
			return m.Name, nil
		}
	}
	return "", fmt.Errorf("node %d is not a member any more; add one with kvctl dev add", n.ID)
}
