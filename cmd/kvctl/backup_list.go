//go:build linux

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tenure/server/backup"
	"tenure/server/backup/target"
)

// listedBackup is a backup in a target, described by its name and its length.
type listedBackup struct {
	backup.File
	bytes int64
}

// listBackups returns the backups in a target, sorted by cluster, and within a cluster from the newest to the oldest.
// It ignores other objects.
func listBackups(ctx context.Context, t target.Target) ([]listedBackup, error) {
	objects, err := t.List(ctx, "tenure-")
	if err != nil {
		return nil, err
	}
	var all []listedBackup
	for _, o := range objects {
		if f, is := backup.ParseName(o.Name); is {
			all = append(all, listedBackup{f, o.Bytes})
		}
	}
	slices.SortFunc(all, func(a, b listedBackup) int { return backup.Newest(a.File, b.File) })
	return all, nil
}

// listedJSON is a listed backup in the output with --json.
type listedJSON struct {
	Name      string    `json:"name"`
	Cluster   string    `json:"cluster"`
	Made      time.Time `json:"made"`
	Revision  uint64    `json:"revision"`
	Bytes     int64     `json:"bytes"`
	Encrypted bool      `json:"encrypted"`
}

func newBackupList(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list DIR|URL",
		Aliases: []string{"ls"},
		Short:   "List the backups in a directory or a bucket, by their names",
		Long: "List the backups in a directory or a bucket, the newest first: name, date, revision, stored\n" +
			"length, and whether it is encrypted. All of that comes from the names: nothing is read or\n" +
			"decrypted. To read a backup use kvctl backup verify. Objects with other names than those of\n" +
			"kvctl backup create are ignored.",
		Example: "  kvctl backup list /backups\n  kvctl backup list 's3://backups/tenure?region=eu-central-1'",
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.noReadMode(); err != nil {
				return err
			}
			t, err := openTarget(args[0])
			if err != nil {
				return err
			}
			defer t.Close()
			ctx, cancel := a.bounded(cmd)
			defer cancel()
			found, err := listBackups(ctx, t)
			if err != nil {
				return err
			}
			return a.printBackups(t.String(), found)
		},
	}
	a.timeoutFlag(cmd, "time limit (default: none)")
	return cmd
}

func (p *printer) printBackups(where string, found []listedBackup) error {
	out := []listedJSON{}
	var rows [][]string
	for _, b := range found {
		out = append(out, listedJSON{b.Name, b.Cluster, b.Made, b.Revision, b.bytes, b.Encrypted})
		encrypted := "no"
		if b.Encrypted {
			encrypted = "yes"
		}
		rows = append(rows, []string{
			b.Name, b.Made.Format(time.RFC3339), fmt.Sprint(b.Revision), fmt.Sprint(b.bytes), encrypted,
		})
	}
	return p.list(out, []string{"NAME", "MADE", "REVISION", "BYTES", "ENCRYPTED"}, rows, "there are no backups in "+where)
}
