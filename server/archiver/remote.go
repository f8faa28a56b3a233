package archiver

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"tenure/internal/ident"
	"tenure/server/archive"
	"tenure/server/backup/target"
	"tenure/server/wire"
)

const (
	putFor  = 30 * time.Second // bounds a request for a small object
	listFor = 2 * time.Minute
	// hoursBack is how many hours of segments are listed to find the end. Only if they have none are all segments
	// listed.
	hoursBack = 48
	// maxHours bounds how many hours of segments are listed one by one.
	maxHours = 24 * 100
)

// remote is the archive of a cluster at a target. It is safe for concurrent use.
type remote struct {
	target  target.Target
	cluster ident.ClusterID
	now     func() time.Time // wall-clock time
}

// errLost means that the target answers but lacks what was archived there.
var errLost = errors.New("the target has no archive of this cluster any more: if a disk is not mounted, mount it; to " +
	"begin an archive anew, restart all nodes that archive")

// probe asks the target whether the archive is still there.
func (r *remote) probe(ctx context.Context) error {
	there, err := r.marked(ctx)
	if err == nil && !there {
		err = errLost
	}
	return err
}

// marked reports whether the target has the marker of an archive of this cluster.
func (r *remote) marked(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, putFor)
	defer cancel()
	name := archive.Marker(r.cluster)
	all, err := r.target.List(ctx, name) // Get may need an identity that this node lacks
	return slices.ContainsFunc(all, func(o target.Object) bool { return o.Name == name }), err
}

// list lists the full copies, the verifications, and enough segments to find the end of the archive. It starts at the
// hour of hint, if known.
func (r *remote) list(ctx context.Context, hint wire.Archived, known, there bool) (archive.Listing, error) {
	c := r.cluster
	if !there {
		return archive.List(c, nil), nil
	}
	now := r.now()
	from := now.Add(-hoursBack * time.Hour)
	if reached := time.UnixMilli(hint.ReachedMS); known && reached.After(from) {
		from = reached
	}
	names, err := r.names(ctx, archive.FullPrefix(c), archive.VerifiedPrefix(c))
	if err != nil {
		return archive.Listing{}, err
	}
	logs, err := r.segmentsSince(ctx, from)
	if err != nil {
		return archive.Listing{}, err
	}
	if len(logs) == 0 {
		if logs, err = r.names(ctx, archive.LogPrefix(c)); err != nil {
			return archive.Listing{}, err
		}
	}
	return archive.List(c, append(names, logs...)), nil
}

// segmentsSince returns the names of the segments of the hours from the hour of from on.
func (r *remote) segmentsSince(ctx context.Context, from time.Time) (all []string, err error) {
	for _, prefix := range r.prefixes(from, r.now().Add(time.Hour)) {
		some, err := r.names(ctx, prefix)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// prefixes returns the prefixes of the segments of the hours from from to through. It returns the prefix of all
// segments if the range has too many hours, for example after a clock at 1970, or is empty, after a clock that was
// ahead.
func (r *remote) prefixes(from, through time.Time) (all []string) {
	if hours := through.Sub(from).Hours(); hours < 0 || hours > maxHours {
		return []string{archive.LogPrefix(r.cluster)}
	}
	for _, hour := range archive.Hours(from, through) {
		all = append(all, archive.HourPrefix(r.cluster, hour))
	}
	return all
}

// names returns the names of the objects that begin with any of the prefixes.
func (r *remote) names(ctx context.Context, prefixes ...string) (all []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, listFor)
	defer cancel()
	for _, p := range prefixes {
		objects, err := r.target.List(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			all = append(all, o.Name)
		}
	}
	return all, nil
}

// put stores a small object.
func (r *remote) put(ctx context.Context, name string, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, putFor)
	defer cancel()
	return r.target.Put(ctx, name, bytes.NewReader(b))
}

// delete deletes objects.
func (r *remote) delete(ctx context.Context, names []string) error {
	for _, name := range names {
		ctx, cancel := context.WithTimeout(ctx, putFor)
		err := r.target.Delete(ctx, name)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}
