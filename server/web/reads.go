package web

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"tenure/api"
	"tenure/kv"
)

// Reader reads the store.
type Reader interface {
	// Get reads one key.
	Get(timeout time.Duration, mode Mode, key string) (kv.Entry, bool, ReadMeta, error)
	// Snapshot returns a consistent view for listings; the caller closes it.
	Snapshot(timeout time.Duration, mode Mode) (*kv.Snapshot, ReadMeta, error)
	// CatchUp waits until this node has applied every command that was acknowledged before the call, and returns the
	// store's revision then.
	CatchUp(timeout time.Duration) (revision uint64, err error)
}

// Local is what this node has applied, or measures, by itself: it may be behind the master, and never waits.
type Local interface {
	// Session returns the session of that ID, if there is one.
	Session(id string) (kv.Session, bool)
	// Remaining returns about how long the time runs on that name has; false if none is known to run.
	Remaining(kind kv.TimedKind, name string) (time.Duration, bool)
}

// reads is the common part of all requests that read the store.
type reads struct {
	store Reader
	local Local
}

// get reads one key that x may read. The entry may be newer than the decision about x, so get decides again after the
// read.
func (r *reads) get(x *exchange, key string, mode Mode) (kv.Entry, bool, ReadMeta, error) {
	x.permit.mustBeDecided()
	asked := time.Now()
	e, found, meta, err := r.store.Get(x.timeout(), mode, key)
	x.took.Read += time.Since(asked)
	if err == nil {
		err = x.permit.again()
	}
	return e, found, meta, err
}

// snapshot returns a view for x, about which something was decided, and decides again like get. The view's revision is
// not above that of the meta.
func (r *reads) snapshot(x *exchange, mode Mode) (*kv.Snapshot, ReadMeta, error) {
	x.permit.mustBeDecided()
	asked := time.Now()
	view, meta, err := r.store.Snapshot(x.timeout(), mode)
	x.took.Read += time.Since(asked)
	if err != nil {
		return nil, meta, err
	}
	if err := x.permit.again(); err != nil {
		view.Close()
		return nil, meta, err
	}
	meta.Revision = max(meta.Revision, view.Revision())
	return view, meta, nil
}

const readLess = "read less at a time: keys in pages, with `limit` and `start`"

var (
	errListingTooLong   = errors.New("the listing took too long; " + readLess)
	errListingOvertaken = errors.New("much was written while the listing was read; " + readLess)
)

// deadline returns a function that ends a listing whose client is gone, or that holds its snapshot for too long.
func (r *reads) deadline(x *exchange, view *kv.Snapshot) func() error {
	began := time.Now()
	return func() error {
		switch {
		case time.Since(began) > x.timeouts.response:
			return fmt.Errorf("%w: %w", ErrNotApplied, errListingTooLong)
		case view.Overtaken():
			return fmt.Errorf("%w: %w", ErrNotApplied, errListingOvertaken)
		}
		return x.r.Context().Err()
	}
}

// setReadMeta sets the headers of a read, found or not. The index is never 0: a client that waits for an index above
// 0 would spin. The store's revision goes with every answer, as on writes: it is the base of a client's next write.
func setReadMeta(h http.Header, index uint64, m ReadMeta) {
	v := []string{strconv.FormatUint(max(index, 1), 10), "0", "true", ""}
	v[3] = v[0]
	if m.Revision != max(index, 1) {
		v[3] = strconv.FormatUint(m.Revision, 10)
	}
	if ms := m.LastContact / time.Millisecond; ms > 0 {
		v[1] = strconv.FormatInt(int64(ms), 10)
	}
	if !m.KnownLeader {
		v[2] = "false"
	}
	h[api.HeaderIndex] = v[0:1:1]
	h[api.HeaderLastContact] = v[1:2:2]
	h[api.HeaderKnownLeader] = v[2:3:3]
	h[api.HeaderRevision] = v[3:4:4]
}
