package archiver

import (
	"context"
	"fmt"
	"io"

	"tenure/internal/ident"
	"tenure/server/archive"
	"tenure/server/backup/target"
)

// Objects reads archived objects from a target. It implements recovery.Archive and is safe for concurrent use.
type Objects struct{ Target target.Target }

// Full opens a full copy. The caller closes it.
func (o Objects) Full(ctx context.Context, c ident.ClusterID, f archive.Full) (io.ReadCloser, error) {
	return o.Target.Get(ctx, f.Name(c))
}

// Segment returns the bytes of a segment. One that is longer than archive.MaxSegmentBytes is an archive.ErrDamaged.
func (o Objects) Segment(ctx context.Context, c ident.ClusterID, s archive.Segment) ([]byte, error) {
	r, err := o.Target.Get(ctx, s.Name(c))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, archive.MaxSegmentBytes+1))
	if err == nil && len(b) > archive.MaxSegmentBytes {
		err = fmt.Errorf("%w: it has more than %d bytes", archive.ErrDamaged, archive.MaxSegmentBytes)
	}
	return b, err
}
