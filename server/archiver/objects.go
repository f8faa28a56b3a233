package archiver

import (
	"context"
	"fmt"
	"io"

	"tenure/internal/ident"
	"tenure/server/archive"
	"tenure/server/backup/target"
)

// Objects reads the archive that a target has. It implements recovery.Archive.
type Objects struct{ Target target.Target }

// Full opens a full copy, which the caller closes.
func (o Objects) Full(ctx context.Context, c ident.ClusterID, f archive.Full) (io.ReadCloser, error) {
	return o.Target.Get(ctx, f.Name(c))
}

// Segment returns a segment.
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
