package archiver

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tenure/internal/ident"
	"tenure/server/archive"
	"tenure/server/backup"
	"tenure/server/backup/target"
)

// Objects reads archived objects from a target. It implements recovery.Archive and is safe for concurrent use.
type Objects struct{ Target target.Target }

// Full opens a full copy. The caller closes it.
func (o Objects) Full(ctx context.Context, c ident.ClusterID, f archive.Full) (io.ReadCloser, error) {
	r, err := o.Target.Get(ctx, f.Name(c))
	if err != nil {
		return nil, damagedIf(err, backup.ErrDamaged)
	}
	return fullCopy{r}, nil
}

// fullCopy tells a copy that cannot be decrypted as one that is damaged.
type fullCopy struct{ io.ReadCloser }

// Read implements io.Reader.
func (f fullCopy) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	return n, damagedIf(err, backup.ErrDamaged)
}

// damagedIf adds what to an error that says that an encrypted object was changed or truncated.
func damagedIf(err, what error) error {
	if errors.Is(err, target.ErrDecrypt) {
		return fmt.Errorf("%w: %w", what, err)
	}
	return err
}

// Segment returns the bytes of a segment. One that is longer than archive.MaxSegmentBytes is an archive.ErrDamaged.
func (o Objects) Segment(ctx context.Context, c ident.ClusterID, s archive.Segment) ([]byte, error) {
	r, err := o.Target.Get(ctx, s.Name(c))
	if err != nil {
		return nil, damagedIf(err, archive.ErrDamaged)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, archive.MaxSegmentBytes+1))
	if err == nil && len(b) > archive.MaxSegmentBytes {
		err = fmt.Errorf("%w: it has more than %d bytes", archive.ErrDamaged, archive.MaxSegmentBytes)
	}
	return b, damagedIf(err, archive.ErrDamaged)
}
