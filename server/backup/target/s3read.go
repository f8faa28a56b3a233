package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/minio/minio-go/v7"
)

// rereadWait is the wait before the first retry of a read; it doubles with each retry.
const rereadWait = 100 * time.Millisecond

// bucketReader reads an object from beginning to end. When a connection breaks it continues at the same byte: restoring
// a large backup takes longer than some connections live. It reads one version of the object, or fails.
type bucketReader struct {
	ctx      context.Context
	b        *bucket
	name     string
	body     io.ReadCloser // nil if no request is open
	etag     string
	at, size int64
	failures int // since the last byte was received
}

// open requests the bytes from r.at on.
func (r *bucketReader) open() error {
	var options minio.GetObjectOptions
	if r.at > 0 {
		if err := errors.Join(options.SetRange(r.at, 0), options.SetMatchETag(r.etag)); err != nil {
			return err
		}
	}
	body, info, header, err := r.b.core.GetObject(r.ctx, r.b.name, r.b.prefix+r.name, options)
	if err != nil {
		if minio.ToErrorResponse(err).Code == minio.PreconditionFailed {
			return fmt.Errorf("get %s in %s: it was replaced while it was read", r.name, r.b.text)
		}
		return r.b.problem(r.ctx, "get", r.name, err)
	}
	if r.at > 0 && header.Get("Content-Range") == "" {
		return errors.Join(fmt.Errorf("get %s in %s: the server cannot read from byte %d on", r.name, r.b.text, r.at),
			body.Close())
	}
	if r.at == 0 {
		r.etag, r.size = info.ETag, info.Size
	}
	r.body = body
	return nil
}

func (r *bucketReader) Read(p []byte) (int, error) {
	for {
		if r.body == nil {
			if err := r.open(); err != nil {
				return 0, err
			}
		}
		n, err := r.body.Read(p)
		r.at += int64(n)
		if n > 0 {
			r.failures = 0
			return n, nil
		}
		switch {
		case err == nil:
			return 0, nil
		case r.at >= r.size:
			return 0, io.EOF
		case err == io.EOF:
			err = io.ErrUnexpectedEOF
		}
		if err := r.again(err); err != nil {
			return 0, err
		}
	}
}

// again waits before the next attempt after a failed read, or returns an error if there is no attempt left.
func (r *bucketReader) again(cause error) error {
	_ = r.body.Close()
	r.body = nil
	r.failures++
	if r.failures >= attempts || r.ctx.Err() != nil || r.etag == "" {
		return r.b.problem(r.ctx, "get", r.name, fmt.Errorf("after %d of %d bytes: %w", r.at, r.size, cause))
	}
	t := time.NewTimer(rereadWait << (r.failures - 1))
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.ctx.Done():
	}
	return nil
}

func (r *bucketReader) Close() error {
	if r.body == nil {
		return nil
	}
	return r.body.Close()
}
