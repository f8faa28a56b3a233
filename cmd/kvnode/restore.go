package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"tenure/internal/progress"
	"tenure/server/recovery"
)

func newRestore(stdout, stderr io.Writer) *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use:   "restore FILE|-",
		Short: "Make the data directory of a new cluster's first node from a backup",
		Long: "Make a new data directory, of a cluster of one voter with a new cluster id, from a file that kvctl backup\n" +
			"create has written: whole, or not at all. Then start a node on it, and have the others join it, with\n" +
			"kvnode --join on empty directories.\n\n" +
			"Nodes of the old cluster cannot speak to the new one. Revisions, fencing tokens and epochs go on above the\n" +
			"old ones, and writes that are tried again are refused. If the old cluster may still run, stop it before\n" +
			"clients use the new one.",
		Example: "  kvnode restore tenure.backup --data ./new1\n" +
			"  kvnode --data ./new1 --peer 10.0.0.1:8300 --client 10.0.0.1:8500 --insecure",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return badConfig("restore: give the file that kvctl backup create has written")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			in, size := cmd.InOrStdin(), int64(0)
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return badConfig("%v; give the file that kvctl backup create has written", err)
				}
				defer f.Close()
				if info, err := f.Stat(); err == nil {
					size = info.Size()
				}
				in = f
			}
			var meter *progress.Meter
			if progress.IsTerminal(stderr) {
				meter = progress.New(stderr, "restore", size, "bytes")
			}
			r, info, err := recovery.Restore(&metered{in, meter}, data)
			meter.End()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(stdout, "%s is node %d of cluster %s, alone, at revision %d, from a backup of cluster %s "+
				"at revision %d, made %s.\nStart it, and have the others join: kvnode --data %s --peer HOST:PORT "+
				"--client HOST:PORT\n", r.Dir, r.Node, r.Cluster, r.Revision, info.Cluster, info.Revision,
				info.Made.UTC().Format("2006-01-02 15:04:05 MST"), r.Dir)
			return err
		},
	}
	cmd.Flags().StringVar(&data, "data", "./kvnode-data", "data directory to make; must be empty, or not there")
	return cmd
}

// metered shows how much was read.
type metered struct {
	r     io.Reader
	meter *progress.Meter
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.meter.Add(int64(n))
	return n, err
}
