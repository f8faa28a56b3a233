// Package input reads what a command line names: files, pipes, terminals. Reading ends with a context. No system call
// does that: to open a pipe that nobody writes to, or to read from a terminal, may take forever.
package input

import (
	"context"
	"errors"
	"io"
	"os"
)

// bufferBytes is how much a Reader reads at once.
const bufferBytes = 64 << 10

// Await returns what f returns, or an error that wraps ctx's as soon as ctx ends. In that case f goes on in the
// background, and its result is dropped. The errors call what f reads name.
func Await[T any](ctx context.Context, name string, f func() (T, error)) (T, error) {
	return await(ctx, name, f, func(T) {})
}

// await is Await. It calls drop with a result that comes too late.
func await[T any](ctx context.Context, name string, f func() (T, error), drop func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	if ctx.Err() != nil {
		return none, ended(ctx, name)
	}
	done := make(chan result, 1)
	go func() {
		v, err := f()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	go func() {
		if late := <-done; late.err == nil {
			drop(late.value)
		}
	}()
	return none, ended(ctx, name)
}

// endedError is the error of reading which a context has ended.
type endedError struct {
	text string
	err  error // the context's
}

// Error says which of the two ends it was.
func (e endedError) Error() string { return e.text }

// Unwrap returns the context's error.
func (e endedError) Unwrap() error { return e.err }

func ended(ctx context.Context, name string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return endedError{"the time limit has ended before the end of " + name, ctx.Err()}
	}
	return endedError{"interrupted while reading " + name, ctx.Err()}
}

// IsEnded reports whether err is that of reading which a context has ended.
func IsEnded(err error) bool { return errors.As(err, new(endedError)) }

// Open opens a file for reading. The caller closes it.
func Open(ctx context.Context, name string) (*os.File, error) {
	return await(ctx, name, func() (*os.File, error) { return os.Open(name) }, func(f *os.File) { _ = f.Close() })
}

// Reader reads from another reader until a context ends. A read that has begun then goes on in the background, so
// nobody else may use the other reader. Used by one goroutine at a time.
type Reader struct {
	ctx    context.Context
	r      io.Reader
	name   string
	buffer []byte
	rest   []byte // of buffer, that was read and not yet returned
	err    error  // to return after rest
}

// NewReader returns a Reader of r, which its errors call name.
func NewReader(ctx context.Context, r io.Reader, name string) *Reader {
	return &Reader{ctx: ctx, r: r, name: name, buffer: make([]byte, bufferBytes)}
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(r.rest) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		type read struct {
			n   int
			err error
		}
		got, err := Await(r.ctx, r.name, func() (read, error) {
			n, err := r.r.Read(r.buffer)
			return read{n, err}, nil
		})
		if err != nil {
			r.err = err // for good: the buffer is not free
			return 0, err
		}
		r.rest, r.err = r.buffer[:got.n], got.err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
