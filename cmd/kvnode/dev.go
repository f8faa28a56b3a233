package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tenure/cmd/kvnode/dev"
	"tenure/internal/devcluster"
)

func newDev(environ []string, stdout io.Writer) *cobra.Command {
	o := dev.Options{Out: stdout}
	cmd := &cobra.Command{
		Use:   "dev [-- NODE FLAGS]",
		Short: "Run a whole cluster on this machine",
		Long: "Run a cluster on this machine, one process for each node, until Ctrl-C. The state of the nodes is\n" +
			"printed as it changes. A node that ends is not restarted; kvctl dev does that. Flags after -- are\n" +
			"passed to every node.",
		Example: "  kvnode dev\n  kvnode dev --nodes 5 -- --lease-time 1s",
		Args: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); n > 0 || n < 0 && len(args) > 0 {
				return badConfig("%q: kvnode dev takes no arguments; put flags for the nodes after --", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			exe, err := os.Executable()
			if err != nil {
				return err
			}
			hurry := make(chan struct{})
			var once sync.Once
			ctx, done := onSignal(cmd.Context(), func(os.Signal) {},
				func() { once.Do(func() { close(hurry) }) }, syscall.SIGHUP)
			defer done()
			o.NodeArgs, o.Binary, o.Hurry, o.Kvctl = args, exe, hurry, kvctl(exe)
			o.NodesGiven = cmd.Flags().Changed("nodes")
			o.Check = func(args []string) error { return checkArgs(args, environ) }
			return dev.Run(ctx, o)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.Var(setting(&o.Nodes, "3", "number", parseCount), "nodes", "number of nodes, 1 to 7")
	f.Var(setting(&o.Data, devcluster.DefaultDir, "dir", parseDir), "data",
		"directory of the cluster's data, logs and dev.json")
	f.Var(setting(&o.BasePort, "8500", "port", parseCount), "base-port",
		"port of node 1 for clients; the other nodes use the next ports")
	f.BoolVar(&o.TLS, "tls", false, "the nodes speak TLS, by an authority and certificates that are made in the "+
		"directory")
	f.BoolVar(&o.ACL, "acl", false, "the nodes refuse requests that no token allows; the secret of the first token is "+
		"in a file in the directory")
	f.Var(setting(&o.PeerBasePort, "8300", "port", parseCount), "peer-base-port",
		"port of node 1 for its peers; the other nodes use the next ports")
	f.BoolVar(&o.Redis, "redis", false, "the nodes speak the Redis protocol too")
	f.Var(setting(&o.RedisBasePort, "6379", "port", parseCount), "redis-base-port",
		"port of node 1 for clients of Redis, with --redis; the other nodes use the next ports")
	return cmd
}

// checkArgs refuses what a node would refuse with these arguments.
func checkArgs(args, environ []string) error {
	s := newSettings()
	s.flags.Usage = func() {}
	if err := s.flags.Parse(args); err != nil {
		if err == pflag.ErrHelp {
			return badConfig("--help after --: see kvnode --help")
		}
		return flagError(&cobra.Command{Use: "kvnode"}, err)
	}
	if s.flags.NArg() > 0 {
		return badConfig("%q after --: is not a flag; see kvnode --help", s.flags.Arg(0))
	}
	_, err := s.resolve(environ)
	return err
}

// kvctl returns how this user is likely to call kvctl, by how kvnode was called.
func kvctl(exe string) string {
	beside := filepath.Join(filepath.Dir(exe), "kvctl")
	if strings.Contains(exe, "go-build") {
		return "go run ./cmd/kvctl"
	}
	if _, err := os.Stat(beside); err == nil {
		return beside
	}
	return "kvctl"
}
