package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"filippo.io/age"

	"tenure/internal/ident"
	"tenure/internal/input"
	"tenure/internal/ownfile"
	"tenure/internal/progress"
	"tenure/internal/shown"
	"tenure/server/archive"
	"tenure/server/archiver"
	"tenure/server/backup/target"
	"tenure/server/recovery"
)

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
		fmt.Fprintf(stderr, "kvnode: %s\n", shown.Text(note))
	}
	var meter *progress.Meter
	if progress.IsTerminal(stderr) {
		meter = progress.New(stderr, "restore", 0, "segments")
	}
	r, reached, err := recovery.RestoreArchive(ctx, archiver.Objects{Target: from}, l, at, f.data,
		func(note string) { fmt.Fprintf(stderr, "kvnode: %s\n", shown.Text(note)) }, func(recovery.Restored) { meter.Add(1) })
	meter.End()
	if err != nil {
		return archiveError(from, err)
	}
	when := "at a time that is not known"
	if !reached.Reached.IsZero() {
		when = "which was reached by " + reached.Reached.UTC().Format("2006-01-02 15:04:05.000 MST")
	}
	_, err = fmt.Fprintf(shown.Writer(stdout), "%s is node %d of cluster %s, alone, at revision %d, from the archive of "+
		"cluster %s at revision %d, %s.\nStart it, and have the others join: kvnode --data %s --peer HOST:PORT --client "+
		"HOST:PORT\n", r.Dir, r.Node, r.Cluster, r.Revision, l.Cluster, reached.Revision, when, shown.Word(r.Dir))
	return err
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

// checkTime refuses a time of --at that is still to come. It returns a note if the archive knows of no change up to it.
func checkTime(at, newest, now time.Time) (note string, err error) {
	shown := newest.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	switch {
	case at.IsZero() || newest.IsZero() || !at.After(newest):
		return "", nil
	case at.After(now):
		return "", badConfig("--at %s is in the future; the newest state in the archive is of %s: leave --at out to restore "+
			"that", at.Format(time.RFC3339Nano), shown)
	}
	return fmt.Sprintf("the newest state in the archive is of %s: it is restored, and changes between then and --at, if "+
		"there were any, are not in the archive", shown), nil
}

// catalogued is what a list reads of an archive. Its errors say what to do.
type catalogued struct{ archiver.Objects }

// Segment returns a segment.
func (c catalogued) Segment(ctx context.Context, cluster ident.ClusterID, s archive.Segment) ([]byte, error) {
	b, err := c.Objects.Segment(ctx, cluster, s)
	return b, archiveError(c.Target, err)
}

// listRestorable prints what an archive can restore.
func listRestorable(ctx context.Context, name string, f restoreFlags, stdout io.Writer) error {
	from, err := openArchive(ctx, name, f.identities)
	if err != nil {
		return err
	}
	defer from.Close()
	names, clusters, err := archivedClusters(ctx, from, f.cluster)
	if err != nil {
		return err
	}
	var all []recovery.Catalog
	for _, c := range clusters {
		all = append(all, recovery.ListArchive(ctx, catalogued{archiver.Objects{Target: from}}, archive.List(c, names)))
	}
	if f.json {
		return recovery.WriteCatalogs(stdout, all)
	}
	for i := range all {
		if i > 0 {
			fmt.Fprintln(stdout)
		}
		if err := all[i].Write(stdout); err != nil {
			return err
		}
	}
	return nil
}

// openArchive opens an archive for reading. Encrypted objects are found also without an identity, so that the error of
// reading one says what is missing.
func openArchive(ctx context.Context, name string, files []string) (target.Target, error) {
	keys, err := input.Await(ctx, "the identities", func() ([]age.Identity, error) { return target.Identities(files) })
	if ctx.Err() != nil {
		return nil, errInterrupted
	}
	if err != nil {
		return nil, badConfig("%v", ownfile.Unreadable(err))
	}
	from, err := target.Open(name, target.Config{})
	if err != nil {
		return nil, badConfig("%v", err)
	}
	return target.Encrypted(from, nil, keys), nil
}

// archivedClusters returns the names of all objects of an archive, and the clusters whose ids begin with id.
func archivedClusters(ctx context.Context, from target.Target, id string) (names []string, all []ident.ClusterID,
	err error) {
	objects, err := from.List(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	for _, o := range objects {
		names = append(names, o.Name)
	}
	for _, c := range archive.Clusters(names) {
		if strings.HasPrefix(c.String(), id) {
			all = append(all, c)
		}
	}
	switch {
	case len(all) > 0:
		return names, all, nil
	case id != "":
		return nil, nil, badConfig("%s has no archive of a cluster %s", from, id)
	case strings.Contains(strings.Join(names, "\n"), ".backup"):
		return nil, nil, badConfig("%s has backups and no archive; name one of them, as kvctl backup list shows them", from)
	}
	if _, err := os.Stat(filepath.Join(from.String(), "log.db")); err == nil {
		return nil, nil, badConfig("%s is the data directory of a node and no archive: start the node on it, or see what is "+
			"in it with kvnode check; a copy of it is no backup", from)
	}
	return nil, nil, badConfig("%s has no archive", from)
}

// oneArchive returns the listing of the archive of one cluster. id is the beginning of its id; it may be empty if there
// is only one.
func oneArchive(ctx context.Context, from target.Target, id string) (archive.Listing, error) {
	names, clusters, err := archivedClusters(ctx, from, id)
	if err != nil {
		return archive.Listing{}, err
	}
	if len(clusters) == 1 {
		return archive.List(clusters[0], names), nil
	}
	var list []string
	for _, c := range clusters {
		list = append(list, c.String())
	}
	return archive.Listing{}, badConfig("%s has the archives of %d clusters; choose one with --cluster-id: %s", from,
		len(clusters), strings.Join(list, ", "))
}

// archiveError says what to do about an error of reading the archive from.
func archiveError(from target.Target, err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return errInterrupted
	case errors.Is(err, target.ErrNoIdentity):
		return badConfig("%s is encrypted: give the file with the secret with --identity FILE", from)
	case errors.Is(err, target.ErrWrongIdentity):
		return badConfig("%s is encrypted to others than the identities that were given: give the --identity of one of its "+
			"recipients", from)
	}
	return err
}
