package web

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// readKey reads one key that x may read.
func readKey(x *exchange, key string, mode service.Mode) (kv.Entry, bool, service.ReadMeta, error) {
	asked := time.Now()
	defer func() { x.took.Read += time.Since(asked) }()
	return x.req.Get(mode, key)
}

// readView returns a view for x, about which something was decided.
func readView(x *exchange, mode service.Mode) (*kv.Snapshot, service.ReadMeta, error) {
	asked := time.Now()
	defer func() { x.took.Read += time.Since(asked) }()
	return x.req.Snapshot(mode)
}

const readLess = "read less at a time: keys in pages, with `limit` and `start`"

var (
	errListingTooLong   = errors.New("the listing took too long; " + readLess)
	errListingOvertaken = errors.New("much was written while the listing was read; " + readLess)
)

// deadlineOf returns a function that ends a listing whose client is gone, or that holds its snapshot for too long.
func deadlineOf(x *exchange, view *kv.Snapshot) func() error {
	began := time.Now()
	return func() error {
		switch {
		case time.Since(began) > x.timeouts.response:
			return fmt.Errorf("%w: %w", service.ErrNotApplied, errListingTooLong)
		case view.Overtaken():
			return fmt.Errorf("%w: %w", service.ErrNotApplied, errListingOvertaken)
		}
		return x.r.Context().Err()
	}
}

// setReadMeta sets the headers of a read, found or not. The index is never 0: a client that waits for an index above
// 0 would spin. The store's revision goes with every answer, as on writes: it is the base of a client's next write.
func setReadMeta(h http.Header, index uint64, m service.ReadMeta) {
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
