package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"tenure/internal/progress"
	"tenure/server/archive"
	"tenure/server/archiver"
	"tenure/server/backup/target"
	"tenure/server/recovery"
)

// restoreFlags are the flags of kvnode restore.
type restoreFlags struct {
	data       string
	at         string
	cluster    string
	identities []string // files
	list, json bool
}

// isArchive reports whether what is to be restored is an archive: a directory, or a URL that does not end in the name
// of a backup.
func isArchive(name string) bool {
	if target.IsURL(name) {
		_, last, err := target.Split(name)
		return err != nil || !strings.HasSuffix(strings.TrimSuffix(last, ".age"), ".backup")
	}
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// parseAt reads a revision or a time.
func parseAt(text string) (at archive.At, err error) {
	if text == "" {
		return at, nil
	}
	if at.Revision, err = strconv.ParseUint(text, 10, 64); err == nil && at.Revision > 0 {
		return at, nil
	}
	if at.Time, err = time.Parse(time.RFC3339Nano, text); err != nil {
		return at, badConfig("--at %q is no revision and no time; write it like 48211 or 2026-11-23T02:00:01Z", text)
	}
	return archive.At{Time: at.Time}, nil
}

// restoreArchive restores from an archive.
func restoreArchive(ctx context.Context, name string, f restoreFlags, stdout, stderr io.Writer) error {
	at, err := parseAt(f.at)
	if err != nil {
		return err
	}
	from, err := openArchive(ctx, name, f.identities)
	if err != nil {
		return err
	}
	defer from.Close()
	l, err := oneArchive(ctx, from, f.cluster)
	if err != nil {
		return err
	}
	if note, err := checkTime(at.Time, l.Newest(), time.Now()); err != nil {
		return err
	} else if note != "" {
		fmt.Fprintf(stderr, "kvnode: %s\n", note)
	}
	var meter *progress.Meter
	if progress.IsTerminal(stderr) {
		meter = progress.New(stderr, "restore", 0, "segments")
	}
	r, reached, err := recovery.RestoreArchive(ctx, archiver.Objects{Target: from}, l, at, f.data,
		func(note string) { fmt.Fprintf(stderr, "kvnode: %s\n", note) }, func(recovery.Restored) { meter.Add(1) })
	meter.End()
	if err != nil {
		return archiveError(from, err)
	}
	when := "at a time that is not known"
	if !reached.Reached.IsZero() {
		when = "which was reached by " + reached.Reached.UTC().Format("2006-01-02 15:04:05.000 MST")
	}
	_, err = fmt.Fprintf(stdout, "%s is node %d of cluster %s, alone, at revision %d, from the archive of cluster %s "+
		"at revision %d, %s.\nStart it, and have the others join: kvnode --data %s --peer HOST:PORT --client "+
		"HOST:PORT\n", r.Dir, r.Node, r.Cluster, r.Revision, l.Cluster, reached.Revision, when, r.Dir)
	return err
}
