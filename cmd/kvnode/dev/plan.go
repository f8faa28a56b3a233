package dev

import (
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tenure/internal/devcluster"
	"tenure/internal/quorum"
)

// ErrConfig is wrapped by every error about the options. Its own text is not shown.
var ErrConfig = errors.New("bad configuration")

// Options say what to start. The zero value is not useful.
type Options struct {
	Nodes        int
	NodesGiven   bool   // Nodes is not the default
	Data         string // directory of the whole cluster
	BasePort     int    // clients of node 1; node 2 gets the next port, and so on
	PeerBasePort int
	TLS          bool // the nodes speak TLS, with certificates that are made in Data
	ACL          bool // the nodes ask for tokens; the first one's secret is in a file in Data
	Redis        bool // the nodes speak the Redis protocol too
	// RedisBasePort is where node 1 does; node 2 gets the next port, and so on.
	RedisBasePort int
	NodeArgs      []string // more flags for every node
	Binary        string   // the program to start; a copy of it is kept in Data, so that kvctl can start a node later
	Kvctl         string   // how to call kvctl, as shown to people
	Out           io.Writer
	// Check refuses arguments that a node would refuse, before anything is touched.
	Check func(args []string) error
	// Hurry, when closed, ends the nodes without their orderly stop.
	Hurry <-chan struct{}
}

// refusal is one line that says what is wrong and how to mend it.
type refusal string

func (r refusal) Error() string { return string(r) }
func (r refusal) Unwrap() error { return ErrConfig }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// owned are the node flags that belong to the supervisor.
var owned = []string{"--acl", "--tls-cert", "--tls-key", "--tls-ca", "--id", "--cluster", "--data", "--client",
	"--peer", "--redis",
	"--join", "--replace", "--non-voter", "--spare"}

// plan lays out the nodes, none of them running.
func (o Options) plan() ([]devcluster.Node, error) {
	if o.Nodes < 1 || o.Nodes > quorum.MaxVoters {
		return nil, refuse("--nodes %d: 1 <= nodes <= %d must hold; use 3", o.Nodes, quorum.MaxVoters)
	}
	for _, a := range o.NodeArgs {
		for _, own := range owned {
			if a == own || strings.HasPrefix(a, own+"=") {
				return nil, refuse("%s after --: is set by kvnode dev for each node; leave it out", own)
			}
		}
	}
	if err := o.checkPorts(); err != nil {
		return nil, err
	}
	data, err := filepath.Abs(o.Data)
	if err != nil || o.Data == "" {
		return nil, refuse("--data %q: is not a directory name; use ./kvnode-dev", o.Data)
	}
	nodes := make([]devcluster.Node, o.Nodes)
	var list []string
	for i := range nodes {
		id := i + 1
		nodes[i] = devcluster.Node{
			ID: id, Client: loopback(o.BasePort + i), Peer: loopback(o.PeerBasePort + i),
			Data: filepath.Join(data, fmt.Sprintf("node%d", id)),
			Log:  filepath.Join(data, fmt.Sprintf("node%d.log", id)),
		}
		if o.TLS {
			nodes[i].Plan(data, fmt.Sprintf("node-%d", id))
		}
		if o.ACL {
			nodes[i].Token = devcluster.TokenFile(data)
		}
		if o.Redis {
			nodes[i].Redis = loopback(o.RedisBasePort + i)
		}
		list = append(list, fmt.Sprintf("%d=%s", id, nodes[i].Peer))
	}
	for i := range nodes {
		n := &nodes[i]
		n.Args = n.OwnArgs([]string{"--id", strconv.Itoa(n.ID), "--cluster", strings.Join(list, ",")}, o.NodeArgs...)
		if err := o.Check(n.Args); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// planOf lays out the nodes of a cluster whose members have changed: as they were recorded, none of them running.
func (o Options) planOf(old *devcluster.State) ([]devcluster.Node, error) {
	if o.NodesGiven && o.Nodes != len(old.Nodes) {
		return nil,
			refuse("--nodes %d: the cluster in %s has %d nodes by now; leave it out, and use kvctl dev add or remove",
				o.Nodes, o.Data, len(old.Nodes))
	}
	nodes := slices.Clone(old.Nodes)
	for i := range nodes {
		n := &nodes[i]
		if o.Redis && n.Redis == "" {
			return nil, refuse("--redis: nodes of the cluster in %s were added or removed while it was without; leave it "+
				"out, or use another --data", o.Data)
		}
		n.PID = 0
		if more := n.MoreArgs(); len(o.NodeArgs) > 0 && !slices.Equal(more, o.NodeArgs) {
			n.Args = append(slices.Clone(n.Args[:len(n.Args)-len(more)]), o.NodeArgs...)
		}
	}
	return nodes, nil
}

func (o Options) checkPorts() error {
	bases := []struct {
		flag string
		port int
	}{{"--base-port", o.BasePort}, {"--peer-base-port", o.PeerBasePort}}
	if o.Redis {
		bases = append(bases, struct {
			flag string
			port int
		}{"--redis-base-port", o.RedisBasePort})
	}
	for i, p := range bases {
		if p.port < 1 || p.port+o.Nodes-1 > 65535 {
			return refuse("%s %d: %d nodes need ports from 1 to 65535; use a lower one", p.flag, p.port, o.Nodes)
		}
		for _, q := range bases[:i] {
			if d := q.port - p.port; -o.Nodes < d && d < o.Nodes {
				return refuse("%s %d and %s %d: their %d ports overlap; move one of them", q.flag, q.port, p.flag, p.port,
					o.Nodes)
			}
		}
	}
	return nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// checkFree refuses a port that another process holds, before any node starts.
func checkFree(nodes []devcluster.Node) error {
	for _, n := range nodes {
		for _, p := range []struct{ addr, flag string }{{n.Client, "--base-port"}, {n.Peer, "--peer-base-port"},
			{n.Redis, "--redis-base-port"}} {
			if p.addr == "" {
				continue
			}
			l, err := net.Listen("tcp", p.addr)
			if err != nil {
				return fmt.Errorf("node %d cannot listen on %s (%w); stop what holds it or move with %s", n.ID, p.addr,
					errors.Unwrap(err), p.flag)
			}
			l.Close()
		}
	}
	return nil
}
