package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Object is what a target has under a name.
type Object struct {
	Name     string
	Bytes    int64     // as stored, so of an encrypted one with what encryption adds
	Modified time.Time // by the clock of the target
}

// Target is a place for objects. Its methods may be called at any time from any goroutine. An error of any of them says
// what was to be done with which object where, wraps the sentinel that fits, and holds no credential.
type Target interface {
	// Put stores what r gives until io.EOF under name, in place of what is there. It is stored whole or not at all, and
	// durable when Put returns nil. After an error the object is as it was before, except where the answer of a bucket
	// was lost: then it may be the new one, whole. An error of r is wrapped.
	Put(ctx context.Context, name string, r io.Reader) error
	// Get opens the object, or returns ErrNotFound. The caller closes it. The end of ctx ends its reads.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// List returns the objects whose names begin with prefix, in the order of their bytes. A name that no Put would take
	// is left out. More than MaxObjects are an error.
	List(ctx context.Context, prefix string) ([]Object, error)
	// Delete removes the object; done also if it is not there.
	Delete(ctx context.Context, name string) error
	// Close releases connections that are kept for later. Objects that are open stay so.
	Close() error
	// String names the target for people, as the URL of it without what is secret.
	String() string
}

// MaxObjects is how many objects List returns at most.
const MaxObjects = 1 << 22

var (
	// ErrNotFound says that there is no object of that name.
	ErrNotFound = errors.New("not found")
	// ErrName says that no object can have that name.
	ErrName = errors.New("bad name of an object")
	// ErrURL says that the text which names a target is none.
	ErrURL = errors.New("bad target")
	// ErrMissing says that the target itself is not there: the directory or the bucket.
	ErrMissing = errors.New("the target is not there")
	// ErrDenied says that the target refuses: the credentials are wrong, or may not do this.
	ErrDenied = errors.New("access denied")
	// ErrUnreachable says that the target did not answer.
	ErrUnreachable = errors.New("the target does not answer")
	// ErrFull says that the target has no space left.
	ErrFull = errors.New("the target is full")
)

// problem returns an error that says what was to be done, which sentinel it is, and how it came.
func problem(doing string, kind, cause error, todo string) error {
	if todo != "" {
		todo = "; " + todo
	}
	return fmt.Errorf("%s: %w%s (%w)", doing, kind, todo, cause)
}
