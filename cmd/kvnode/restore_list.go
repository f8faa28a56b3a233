package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"

	"tenure/internal/ident"
	"tenure/internal/input"
	"tenure/server/archive"
	"tenure/server/archiver"
	"tenure/server/backup/target"
	"tenure/server/recovery"
)

// openArchive opens an archive for reading. Encrypted objects are found also without an identity, so that the error of
// reading one says what is missing.
func openArchive(ctx context.Context, name string, files []string) (target.Target, error) {
	keys, err := input.Await(ctx, "the identities", func() ([]age.Identity, error) { return target.Identities(files) })
	if ctx.Err() != nil {
		return nil, errInterrupted
	}
	if err != nil {
		return nil, badConfig("%v", err)
	}
	from, err := target.Open(name, target.Config{})
	if err != nil {
		return nil, badConfig("%v", err)
	}
	return target.Encrypted(from, nil, keys), nil
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
