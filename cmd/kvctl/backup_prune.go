//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tenure/internal/days"
	"tenure/server/backup"
	"tenure/server/backup/target"
)

// backupPrune is a run of kvctl backup prune.
type backupPrune struct {
	*app
	keep   backup.Retention
	dryRun bool
}

func newBackupPrune(a *app) *cobra.Command {
	x := &backupPrune{app: a}
	cmd := &cobra.Command{
		Use:   "prune DIR|URL",
		Short: "Delete the backups in a directory or a bucket that no --keep flag keeps",
		Long: "Delete the backups in a directory or a bucket that no --keep flag keeps, the oldest first. The\n" +
			"flags apply to the backups of each cluster separately, and a backup is kept if any flag keeps\n" +
			"it. Days, weeks (from Monday) and months are those of UTC. Of each the newest backup is kept;\n" +
			"days, weeks and months without a backup do not count.\n\n" +
			"The newest backup of each cluster is never deleted, nor is anything whose name is not that of a\n" +
			"backup. Nothing is read, so verify the newest backup first. --dry-run prints what is kept and\n" +
			"why, and deletes nothing.",
		Example: "  kvctl backup prune /backups --keep-daily 7 --keep-weekly 5 --keep-monthly 12 --dry-run\n" +
			"  kvctl backup prune /backups --keep-within 30d",
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.noReadMode(); err != nil {
				return err
			}
			if err := checkRetention(x.keep); err != nil {
				return err
			}
			t, err := openTarget(args[0])
			if err != nil {
				return err
			}
			defer t.Close()
			a.changes = !x.dryRun
			ctx, cancel := a.bounded(cmd)
			defer cancel()
			return x.prune(ctx, t)
		},
	}
	cmd.Flags().IntVar(&x.keep.Last, "keep-last", 0, "keep so many of the newest")
	cmd.Flags().IntVar(&x.keep.Daily, "keep-daily", 0, "keep the newest of each of so many days")
	cmd.Flags().IntVar(&x.keep.Weekly, "keep-weekly", 0, "keep the newest of each of so many weeks")
	cmd.Flags().IntVar(&x.keep.Monthly, "keep-monthly", 0, "keep the newest of each of so many months")
	cmd.Flags().Var((*days.Value)(&x.keep.Within), "keep-within",
		"keep all that were made within this time, such as 36h, 7d or 2w, before the newest")
	cmd.Flags().BoolVar(&x.dryRun, "dry-run", false, "say what is kept and why, and delete nothing")
	a.timeoutFlag(cmd, "time limit (default: none)")
	return cmd
}

// checkRetention refuses a retention that keeps only the newest backup: more likely a flag was forgotten.
func checkRetention(keep backup.Retention) error {
	if min(keep.Last, keep.Daily, keep.Weekly, keep.Monthly) < 0 || keep.Within < 0 {
		return usage("a --keep flag is negative; give how many to keep, or leave it out")
	}
	if keep.IsZero() {
		return usage("no --keep flag says what to keep; to keep the newest only, give --keep-last 1")
	}
	return nil
}

// prunedJSON is what --json prints for each backup.
type prunedJSON struct {
	Name string   `json:"name"`
	Kept bool     `json:"kept"`
	Why  []string `json:"why,omitempty"`
}

// prune deletes the backups in t that are not to be kept, and prints the decision on each.
func (x *backupPrune) prune(ctx context.Context, t target.Target) error {
	found, err := listBackups(ctx, t)
	if err != nil {
		return err
	}
	files := make([]backup.File, len(found))
	for i, b := range found {
		files[i] = b.File
	}
	out := []prunedJSON{}
	var rows [][]string
	var doomed []string
	for _, d := range x.keep.Decide(files) {
		out = append(out, prunedJSON{d.Name, d.Keep(), d.Why})
		verb := "keep"
		if !d.Keep() {
			verb = "delete"
			doomed = append(doomed, d.Name)
		}
		rows = append(rows, []string{verb, d.Name, orDash(strings.Join(d.Why, ", "))})
	}
	if !x.dryRun {
		if err := x.delete(ctx, t, doomed); err != nil {
			return err
		}
	}
	return x.print(out, func(w io.Writer) error {
		if err := table(w, []string{"", "NAME", "WHY"}, rows); err != nil {
			return err
		}
		done := "deleted"
		if x.dryRun {
			done = "to delete, which was not done"
		}
		_, err := fmt.Fprintf(w, "%d kept, %d %s\n", len(out)-len(doomed), len(doomed), done)
		return err
	})
}

// delete deletes the named backups in t, which are sorted from the newest to the oldest, in reverse order: if it is
// interrupted, the oldest ones are gone.
func (x *backupPrune) delete(ctx context.Context, t target.Target, names []string) error {
	if len(names) == 0 {
		return nil
	}
	meter := x.meter("prune", int64(len(names)), "backups")
	defer meter.End()
	for i, name := range slices.Backward(names) {
		if err := t.Delete(ctx, name); err != nil {
			return fmt.Errorf("%w; %d of %d are deleted", err, len(names)-1-i, len(names))
		}
		meter.Add(1)
	}
	return nil
}
