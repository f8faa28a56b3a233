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
	var f restoreFlags
	cmd := &cobra.Command{
		Use:   "restore FILE|-|TARGET",
		Short: "Make the data directory of a new cluster's first node from a backup or an archive",
		Long: "Make a new data directory, of a cluster of one voter with a new cluster id, from a file that kvctl backup\n" +
			"create has written, or from the directory or bucket to which the nodes have archived (kvnode --archive):\n" +
			"whole, or not at all. Then start a node on it, and have the others join it, with kvnode --join on empty\n" +
			"directories.\n\n" +
			"From an archive any revision and any time can be restored, with --at, as it was; without --at its end.\n\n" +
			"Nodes of the old cluster cannot speak to the new one. Revisions, fencing tokens and epochs go on above the\n" +
			"old ones, and writes that are tried again are refused. If the old cluster may still run, stop it before\n" +
			"clients use the new one.",
		Example: "  kvnode restore tenure.backup --data ./new1\n" +
			"  kvnode restore s3://backups/tenure --at 2026-11-23T02:00:00Z --data ./new1\n" +
			"  kvnode restore /mnt/archive --at 48211 --data ./new1\n" +
			"  kvnode --data ./new1 --peer 10.0.0.1:8300 --client 10.0.0.1:8500 --insecure",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return badConfig("restore: give the file that kvctl backup create has written, or the target of --archive")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if isArchive(args[0]) {
				return restoreArchive(cmd.Context(), args[0], f, stdout, stderr)
			}
			if f.at != "" || f.cluster != "" || f.identity != "" {
				return badConfig("restore: --at, --identity and --cluster-id are for an archive, and %s is a backup, which has one revision only",
					args[0])
			}
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
			r, info, err := recovery.Restore(&metered{in, meter}, f.data)
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
	cmd.Flags().StringVar(&f.data, "data", "./kvnode-data", "data directory to make; must be empty, or not there")
	cmd.Flags().StringVar(&f.at, "at", "", "of an archive: the revision or the time (RFC 3339) to restore; default: its end")
	cmd.Flags().StringVar(&f.identity, "identity", "", "file of age identities, of an archive that is encrypted")
	cmd.Flags().StringVar(&f.cluster, "cluster-id", "", "of an archive of several clusters: which one, by the beginning of its id")
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
