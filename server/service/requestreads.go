package service

import (
	"tenure/kv"
)

// Get reads one key, about which something was decided.
func (r *Request) Get(mode Mode, key string) (kv.Entry, bool, ReadMeta, error) {
	r.MustBeDecided()
	e, found, meta, err := r.node().Get(r.timeout, mode, key)
	if err == nil {
		err = r.Again()
	}
	return e, found, meta, err
}

// GetMany reads keys that the client may read, in one state, calls each with every one in order, until it returns
// false, and returns the revision of the state. The entry of a key that is absent has ModifyIndex 0. It may begin again
// with the first key. After an error each may have been called with entries that the client must not get.
func (r *Request) GetMany(mode Mode, keys []string, each func(i int, e kv.Entry) bool) (uint64, error) {
	if !r.Decides() {
		if err := r.needServing(); err != nil {
			return 0, err
		}
	} else {
		for _, k := range keys {
			if err := r.NeedKey(k); err != nil {
				return 0, err
			}
		}
	}
	revision, err := r.node().GetMany(r.timeout, mode, keys, each)
	if err == nil {
		err = r.Again()
	}
	return revision, err
}

// Snapshot returns a view of the whole state, which the caller closes, about which something was decided. The view's
// revision is not above that of the meta.
func (r *Request) Snapshot(mode Mode) (*kv.Snapshot, ReadMeta, error) {
	r.MustBeDecided()
	view, meta, err := r.node().Snapshot(r.timeout, mode)
	if err != nil {
		return nil, meta, err
	}
	if err := r.Again(); err != nil {
		view.Close()
		return nil, meta, err
	}
	meta.Revision = max(meta.Revision, view.Revision())
	return view, meta, nil
}

// ReadPoint waits until this node has applied every write acknowledged before the call, as mode requires, and returns a
// revision of the state then. It reads nothing, so it needs no permission.
func (r *Request) ReadPoint(mode Mode) (revision uint64, err error) {
	if err := r.needServing(); err != nil {
		return 0, err
	}
	return r.node().GetMany(r.timeout, mode, []string{anyKey}, func(int, kv.Entry) bool { return true })
}

// anyKey is read where only the moment of reading matters.
const anyKey = "-"
