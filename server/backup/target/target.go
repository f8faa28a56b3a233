package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Object describes an object of a target.
type Object struct {
	Name     string
	Bytes    int64     // as stored, so including the overhead of encryption
	Modified time.Time // by the clock of the target
}

// Target stores objects. Its methods are safe for concurrent use. Their errors name the operation, the object and the
// target, wrap the sentinel that fits, and contain no credential.
type Target interface {
	// Put stores the bytes of r until io.EOF under name, replacing what is there. The object is stored completely or
	// not at all, and it is durable when Put returns nil. After an error the object is unchanged, except if the answer
	// of a bucket was lost: then it may be the new one. An error of r is wrapped.
	Put(ctx context.Context, name string, r io.Reader) error
	// Get opens the object, or returns ErrNotFound. The caller closes it. Reads fail after ctx has ended.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// List returns the objects whose names begin with prefix, sorted by name. It leaves out names that Put would not
	// accept. It fails if there are more than MaxObjects.
	List(ctx context.Context, prefix string) ([]Object, error)
	// Delete removes the object. It succeeds if there is no such object.
	Delete(ctx context.Context, name string) error
	// Close closes idle connections. Open objects stay open.
	Close() error
	// String returns the directory or the URL of the target, without secrets.
	String() string
}

// MaxObjects bounds the objects that List returns.
const MaxObjects = 1 << 22

var (
	// ErrNotFound means that there is no object of that name.
	ErrNotFound = errors.New("not found")
	// ErrName means that no object can have that name.
	ErrName = errors.New("bad name of an object")
	// ErrURL means that a text does not name a target.
	ErrURL = errors.New("bad target")
	// ErrMissing means that the directory or the bucket does not exist.
	ErrMissing = errors.New("the target is not there")
	// ErrDenied means that the credentials are wrong, or lack the permission.
	ErrDenied = errors.New("access denied")
	// ErrUnreachable means that the target did not answer, or failed.
	ErrUnreachable = errors.New("the target does not answer")
	// ErrFull means that the target has no space left.
	ErrFull = errors.New("the target is full")
)

// problem returns an error that names the operation, wraps the sentinel kind and the cause, and ends with advice, todo,
// if there is any.
func problem(doing string, kind, cause error, todo string) error {
	if todo != "" {
		todo = "; " + todo
	}
	return fmt.Errorf("%s: %w%s (%w)", doing, kind, todo, cause)
}
