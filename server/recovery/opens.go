package recovery

import (
	"errors"

	"tenure/kv"
	"tenure/storage"
)

// opens returns the error with which the state machine would refuse the state database, if its file is sound and whole.
// Every page may be right and what they say together not: then no node starts.
func opens(x *storage.Examination) error {
	if x.State == nil || x.State.Unfinished != 0 { // the next start completes a checkpoint first
		return nil
	}
	_, err := kv.Open(examined{x}, kv.DefaultLimits)
	return err
}

// examined is the state database of an examination, as kv.Open reads it: kind by kind.
type examined struct{ *storage.Examination }

var errOnlyAscends = errors.New("an examined state database is only read kind by kind")

// Loaded implements kv.Source.
func (e examined) Loaded() (slot uint64, meta []byte, err error) {
	return uint64(e.State.Slot), e.State.Meta, nil
}

// View implements kv.Source.
func (e examined) View() (kv.StateDB, error) { return examinedView{e.Examination}, nil }

// examinedView implements kv.StateDB.
type examinedView struct{ x *storage.Examination }

// Ascend calls fn with all records of kind. from must be nil.
func (v examinedView) Ascend(kind kv.RecordKind, from []byte, fn func(key, value []byte) bool) (err error) {
	if from != nil {
		return errOnlyAscends
	}
	v.x.Records(int(kind), nil, func(_ kv.RecordKind, key, value []byte) bool { return fn(key, value) },
		func(_ string, why error) { err = errors.Join(err, why) })
	return err
}

// Get returns errOnlyAscends.
func (examinedView) Get(kv.RecordKind, []byte) ([]byte, error) { return nil, errOnlyAscends }

// Descend returns errOnlyAscends.
func (examinedView) Descend(kv.RecordKind, []byte, func(key, value []byte) bool) error {
	return errOnlyAscends
}

// Overtaken returns false: nothing is written.
func (examinedView) Overtaken() bool { return false }

// Close does nothing: the examination is the caller's.
func (examinedView) Close() {}
