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
		Long: "kvnode dev runs a cluster on this machine, one process a node, until Ctrl-C. It tells what the nodes do and\n" +
			"restarts none by itself: see kvctl dev. Flags after -- go to every node.",
		Example: "  kvnode dev\n  kvnode dev --nodes 5 -- --lease-time 1s",
		Args: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); n > 0 || n < 0 && len(args) > 0 {
				return badConfig("%q: is no argument of kvnode dev; put flags for the nodes after --", args[0])
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
			ctx, done := onSignal(cmd.Context(), func(os.Signal) {}, func() { once.Do(func() { close(hurry) }) }, syscall.SIGHUP)
			defer done()
			o.NodeArgs, o.Binary, o.Hurry, o.Kvctl = args, exe, hurry, kvctl(exe)
			o.Check = func(args []string) error { return checkArgs(args, environ) }
			return dev.Run(ctx, o)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.Var(setting(&o.Nodes, "3", "number", parseCount), "nodes", "how many nodes, 1 to 7")
	f.Var(setting(&o.Data, devcluster.DefaultDir, "dir", parseDir), "data", "directory of the cluster's data, logs and dev.json")
	f.Var(setting(&o.BasePort, "8500", "port", parseCount), "base-port", "where node 1 listens for clients; the others on the next ports")
	f.Var(setting(&o.PeerBasePort, "8300", "port", parseCount), "peer-base-port", "where node 1 listens for its peers; the others on the next ports")
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

// kvctl is how this user calls kvctl, judged by how kvnode was called.
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
