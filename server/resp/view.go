package resp

import (
	"errors"
	"time"

	"tenure/kv"
)

// view is a state without the keys that the client may not read.
type view struct {
	snapshot *kv.Snapshot
	store    *store
	hides    bool // there may be such keys
	began    time.Time
}

var (
	errListingTooLong   = errors.New("the listing took too long: use SCAN")
	errListingOvertaken = errors.New("much was written while the listing was read: use SCAN")
)

// inTime returns why v must be closed, if it must: the disk keeps old pages for it.
func (v view) inTime() error {
	switch {
	case time.Since(v.began) > v.store.listing:
		return errListingTooLong
	case v.snapshot.Overtaken():
		return errListingOvertaken
	}
	return nil
}

// shows reports whether key is in the view.
func (v view) shows(key string) bool { return !v.hides || v.store.MayKey(key) }

// only returns r without the keys that are not in the view, and with the end of its time.
func (v view) only(r kv.Range) kv.Range {
	r.Cancel = v.inTime
	if v.hides {
		r.Keep = v.shows
	}
	return r
}

// Revision returns that of the whole state.
func (v view) Revision() uint64 { return v.snapshot.Revision() }

// Count returns how many keys of r there are.
func (v view) Count(r kv.Range) (int, error) { return v.snapshot.Count(v.only(r)) }

// Keys calls fn with the keys of r in order, until it says false.
func (v view) Keys(r kv.Range, fn func(key string) bool) error {
	return v.snapshot.Keys(v.only(r), "", fn)
}

// Pass is Keys, but also calls fn for hidden keys, with shown false. fn may use a hidden key only as the place at which
// to continue.
func (v view) Pass(r kv.Range, fn func(key string, shown bool) bool) error {
	r.Cancel = v.inTime
	return v.snapshot.Keys(r, "", func(key string) bool { return fn(key, v.shows(key)) })
}
