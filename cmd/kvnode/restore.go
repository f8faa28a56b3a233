package main

import (
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"tenure/internal/progress"
	"tenure/server/backup"
	"tenure/server/backup/target"
	"tenure/server/recovery"
)

func newRestore(stdout, stderr io.Writer) *cobra.Command {
	var f restoreFlags
	cmd := &cobra.Command{
		Use:   "restore FILE|URL|-|TARGET",
		Short: "Make the data directory of a new cluster's first node from a backup or an archive",
		Long: "Make the data directory of a new cluster, with one voter and a new cluster id, from a file of\n" +
			"kvctl backup create, or from the directory or bucket to which nodes have archived (kvnode\n" +
			"--archive). The directory is made completely or not at all. Then start a node on it, and let the\n" +
			"others join with kvnode --join on empty directories.\n\n" +
			"From an archive, --at restores any revision or any time. Without --at the end of the archive is\n" +
			"restored.\n\n" +
			"Nodes of the old cluster cannot talk to the new one. Revisions, fencing tokens and epochs\n" +
			"continue above the old ones, and retries of old writes are refused. If the old cluster may still\n" +
			"run, stop it before clients use the new one.",
		Example: "  kvnode restore tenure.backup --data ./new1\n" +
			"  kvnode restore s3://backups/tenure --at 2026-11-23T02:00:00Z --data ./new1\n" +
			"  kvnode restore /mnt/archive --at 48211 --data ./new1\n" +
			"  kvnode restore s3://backups/tenure/NAME.backup.age --identity key.txt --data ./new1\n" +
			"  kvnode --data ./new1 --peer 10.0.0.1:8300 --client 10.0.0.1:8500 --insecure",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return badConfig("restore: give the file that kvctl backup create has written, or the target of " +
					"--archive")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if isArchive(args[0]) {
				return restoreArchive(cmd.Context(), args[0], f, stdout, stderr)
			}
			if f.at != "" || f.cluster != "" {
				return badConfig("restore: --at and --cluster-id are for an archive, and %s is a backup, which has "+
					"one revision only", args[0])
			}
			keys, err := target.Identities(f.identities)
			if err != nil {
				return badConfig("%v", err)
			}
			r, size := io.NopCloser(cmd.InOrStdin()), int64(0)
			if args[0] != "-" {
				if r, size, err = target.OpenObject(cmd.Context(), args[0]); err != nil {
					return badConfig("%v; give the file or the URL of a backup that kvctl backup create has written",
						err)
				}
			}
			defer r.Close()
			var meter *progress.Meter
			if progress.IsTerminal(stderr) {
				meter = progress.New(stderr, "restore", size, "bytes")
			}
			made, info, err := restoreBackup(&metered{r, meter}, keys, f.data)
			meter.End()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(stdout, "%s is node %d of cluster %s, alone, at revision %d, from a backup of "+
				"cluster %s at revision %d, made %s.\nStart it, and have the others join: kvnode --data %s --peer "+
				"HOST:PORT --client HOST:PORT\n",
				made.Dir, made.Node, made.Cluster, made.Revision, info.Cluster, info.Revision,
				info.Made.UTC().Format("2006-01-02 15:04:05 MST"), made.Dir)
			return err
		},
	}
	cmd.Flags().StringVar(&f.data, "data", "./kvnode-data", "data directory to make; must be empty, or not there")
	cmd.Flags().StringArrayVar(&f.identities, "identity", nil, "file with the age identity to decrypt with "+
		"(repeatable)")
	cmd.Flags().StringVar(&f.at, "at", "", "of an archive: the revision or the time (RFC 3339) to restore; default: "+
		"its end")
	cmd.Flags().StringVar(&f.cluster, "cluster-id", "", "of an archive of several clusters: which one, by the "+
		"beginning of its id")
	return cmd
}

// restoreBackup restores a backup, which may be encrypted.
func restoreBackup(r io.Reader, keys []age.Identity, data string) (recovery.Result, backup.Info, error) {
	plain, _, err := target.Plain(r, keys)
	switch {
	case errors.Is(err, target.ErrNoIdentity):
		err = fmt.Errorf("the backup: %w; give --identity FILE", err)
	case errors.Is(err, target.ErrWrongIdentity):
		err = fmt.Errorf("the backup: %w; give the --identity of one of its recipients", err)
	}
	if err != nil {
		return recovery.Result{}, backup.Info{}, err
	}
	return recovery.Restore(plain, data)
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
