package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenure/internal/ident"
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
	keys, err := target.Identities(f.identities)
	if err != nil {
		return badConfig("%v", err)
	}
	from, err := target.Open(name, target.Config{Identities: keys})
	if err != nil {
		return badConfig("%v", err)
	}
	defer from.Close()
	l, err := listArchive(ctx, from, f.cluster)
	if err != nil {
		return err
	}
	var meter *progress.Meter
	if progress.IsTerminal(stderr) {
		meter = progress.New(stderr, "restore", 0, "segments")
	}
	r, reached, err := recovery.RestoreArchive(ctx, archiver.Objects{Target: from}, l, at, f.data,
		func(note string) { fmt.Fprintf(stderr, "kvnode: %s\n", note) }, func(recovery.Restored) { meter.Add(1) })
	meter.End()
	if err != nil {
		return err
	}
	when := "at a time that is not known"
	if !reached.Reached.IsZero() {
		when = "which was reached by " + reached.Reached.UTC().Format("2006-01-02 15:04:05.000 MST")
	}
	_, err = fmt.Fprintf(stdout, "%s is node %d of cluster %s, alone, at revision %d, from the archive of cluster %s "+
		"at revision %d, %s.\nStart it, and have the others join: kvnode --data %s --peer HOST:PORT --client "+
		"HOST:PORT\n", r.Dir,
		r.Node,
		r.Cluster, r.Revision, l.Cluster, reached.Revision, when, r.Dir)
	return err
}

// listArchive lists the archive of one cluster. id is the beginning of its id; it may be empty if there is only one.
func listArchive(ctx context.Context, from target.Target, id string) (archive.Listing, error) {
	all, err := from.List(ctx, "")
	if err != nil {
		return archive.Listing{}, err
	}
	names := make([]string, len(all))
	for i, o := range all {
		names[i] = o.Name
	}
	clusters := slices.DeleteFunc(archive.Clusters(names), func(c ident.ClusterID) bool {
		return !strings.HasPrefix(c.String(), id)
	})
	switch {
	case len(clusters) == 1:
		return archive.List(clusters[0], names), nil
	case len(clusters) == 0 && id != "":
		return archive.Listing{}, badConfig("%s has no archive of a cluster %s", from, id)
	case len(clusters) == 0:
		return archive.Listing{}, badConfig("%s has no archive", from)
	}
	var list []string
	for _, c := range clusters {
		list = append(list, c.String())
	}
	return archive.Listing{}, badConfig("%s has the archives of %d clusters; choose one with --cluster-id: %s", from,
		len(clusters), strings.Join(list, ", "))
}
