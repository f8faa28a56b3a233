//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tenure/api"
	"tenure/client"
)

func newBackupStatus(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show how far the archive is, and when it was last verified",
		Long: "Show the archive to which the nodes write (kvnode --archive): which node archives, how far it\n" +
			"is behind, the age of the newest full copy, and the newest one that was restored and compared.\n" +
			"All nodes are asked. The exit code is 1 if no node archives, or if archiving fails.",
		Example: "  kvctl backup status\n  kvctl backup status --json",
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.call(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				nodes := takeSurvey(ctx, c)
				s, found := nodes.archive()
				switch {
				case nodes.unreachable() != nil:
					return nodes.unreachable()
				case nodes.answering() == 0:
					return errors.New("no node answers: see kvctl status")
				case !found:
					return errors.New("no node that answers has an archive: start the nodes with --archive")
				}
				err := a.print(&s, func(w io.Writer) error { return writeArchive(w, &s, time.Now()) })
				return errors.Join(err, archiveProblem(&s))
			})
		},
	}
}

// archive returns the status of the archive from the node that archives, or, if none does, from the one that knows
// most. It returns false if no node has an archive.
func (s survey) archive() (best api.ArchiveStatus, found bool) {
	for _, n := range s {
		a := n.status.Archive
		if !n.answers() || a == nil {
			continue
		}
		if better := a.Active && !best.Active || a.Active == best.Active && a.Slot > best.Slot; !found || better ||
			!best.Active && a.Problem != "" {
			best, found = *a, true
		}
	}
	return best, found
}

func archiveProblem(s *api.ArchiveStatus) error {
	switch {
	case s.Problem != "":
		return errors.New("archiving fails: " + s.Problem)
	case !s.Active:
		return errors.New("no node archives now: the master does, if it was started with --archive")
	}
	return nil
}

func writeArchive(w io.Writer, s *api.ArchiveStatus, now time.Time) error {
	node, slot := "nobody", "nothing known"
	if s.Node != 0 {
		node = fmt.Sprint("node ", s.Node)
	}
	if s.Known {
		slot = fmt.Sprintf("slot %d, %.1f s behind", s.Slot, float64(s.LagMS)/1000)
	}
	_, err := fmt.Fprintf(w, "target     %s\narchiving  %s\narchived   %s\nfull copy  %s\nverified   %s\n", s.Target,
		node, slot, copyAge(s.Full, now, func(c *api.ArchivedCopy) int64 { return c.MadeMS }),
		copyAge(s.Verified, now, func(c *api.ArchivedCopy) int64 { return c.VerifiedMS }))
	if err != nil || s.Gap == nil {
		return err
	}
	found := "it grows until the archive goes on"
	if s.Gap.FoundMS > 0 {
		found = ago(s.Gap.FoundMS, now)
	}
	_, err = fmt.Fprintf(w, "gap        slots %d to %d were never archived, %s: "+
		"the states between them cannot be restored\n", s.Gap.First, s.Gap.Last, found)
	return err
}

// copyAge describes a full copy by its revision and the time since of(c), in milliseconds since 1970.
func copyAge(c *api.ArchivedCopy, now time.Time, of func(*api.ArchivedCopy) int64) string {
	if c == nil {
		return "none"
	}
	return fmt.Sprintf("revision %d, %s", c.Revision, ago(of(c), now))
}

// ago describes the time since ms, in milliseconds since 1970.
func ago(ms int64, now time.Time) string {
	return fmt.Sprintf("%v ago", max(0, now.Sub(time.UnixMilli(ms))).Truncate(time.Second))
}
