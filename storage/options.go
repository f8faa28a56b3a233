package storage

import (
	"fmt"
	"time"

	"tenure/storage/internal/acceptor"
	"tenure/storage/internal/state"
	"tenure/storage/journal"
)

// Options are fixed while a store is open. A field at zero stands for its default.
type Options struct {
	// LogInitialBytes is the size to which a new log.db is filled with zeros, so that commits need not grow it. A
	// sixteenth of the free space is the most that is taken. Default 8 MiB.
	LogInitialBytes int64
	// LogGrowBytes is how much further log.db is filled, between commits, when the log comes near its end. Default
	// 4 MiB.
	LogGrowBytes int64
	// JournalBytes is the size of the journal of a store that has none yet, down to a multiple of 4 KiB. A sixteenth of
	// the free space is the most that is taken. Default 64 MiB.
	JournalBytes int64
	// FlushBytes is how much is moved from a full journal to log.db at a time. Default 256 KiB.
	FlushBytes int64
	// NoteAfter is after how long log.db is told how far the journal is. Default 1 s.
	NoteAfter time.Duration
	// CheckpointPartBytes is how many bytes of changes a checkpoint merges into state.db in one transaction, at most:
	// of short changes it merges fewer. Default 4 MiB.
	CheckpointPartBytes int64
	// MapBytes is the address space reserved for each file. A file that outgrows it is mapped anew, and that waits
	// for open views. It costs no memory. Default 64 GiB, or less where address space is limited.
	MapBytes int64
	// VerifyBytes is the size up to which Open reads every record of state.db. Of a larger one it reads the branch
	// pages only; see Verify. Default 256 MiB.
	VerifyBytes int64
	// QuotaBytes bounds the bytes in use in both files; 0 is no quota.
	QuotaBytes int64
	// ReserveBytes is the space at which Usage turns Low. Default: an eighth of the file system, at most 256 MiB.
	ReserveBytes int64
	// Offline opens what a stopped node has left, to read it: there must be a store, and it may be a copy. Open only
	// writes what every start writes to complete the run before, and nothing may be committed. No space is needed, none
	// is kept, and the package starts no goroutine.
	Offline bool
	// FailWithoutSpace makes a checkpoint fail when it lacks space. Without it the checkpoint waits for space, as suits
	// a running node, and not a command that a person watches.
	FailWithoutSpace bool
	// Check, if there is one, looks at whose disk this is before anything is written. Open returns its error.
	Check func(Identity) error
}

const (
	defaultLogInitialBytes     = 8 << 20
	defaultLogGrowBytes        = 4 << 20
	defaultJournalBytes        = 64 << 20
	defaultFlushBytes          = 256 << 10
	defaultNoteAfter           = time.Second
	defaultCheckpointPartBytes = 4 << 20
	defaultMapBytes            = 64 << 30
	defaultVerifyBytes         = 256 << 20
)

// Validate returns an error if a field of o cannot be used.
func (o Options) Validate() error {
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"LogInitialBytes", o.LogInitialBytes}, {"LogGrowBytes", o.LogGrowBytes},
		{"JournalBytes", o.JournalBytes}, {"FlushBytes", o.FlushBytes}, {"NoteAfter", int64(o.NoteAfter)},
		{"CheckpointPartBytes", o.CheckpointPartBytes}, {"MapBytes", o.MapBytes},
		{"VerifyBytes", o.VerifyBytes}, {"QuotaBytes", o.QuotaBytes}, {"ReserveBytes", o.ReserveBytes},
	} {
		if f.value < 0 {
			return fmt.Errorf("storage option %s is %d: give 0 for the default, or more", f.name, f.value)
		}
	}
	if b := o.JournalBytes; b > journal.MaxBytes || (b > 0 && b < acceptor.MinJournalBytes) {
		return fmt.Errorf("storage option JournalBytes is %d: give %d to %d, or 0 for the default", b,
			acceptor.MinJournalBytes, journal.MaxBytes)
	}
	return nil
}

// withDefaults fills every zero field except two whose zero has a meaning: no quota, and a reserve that depends on the
// file system.
func (o Options) withDefaults() Options {
	set := func(f *int64, v int64) {
		if *f == 0 {
			*f = v
		}
	}
	set(&o.LogInitialBytes, defaultLogInitialBytes)
	set(&o.LogGrowBytes, defaultLogGrowBytes)
	set(&o.JournalBytes, defaultJournalBytes)
	set(&o.FlushBytes, defaultFlushBytes)
	set(&o.CheckpointPartBytes, defaultCheckpointPartBytes)
	set(&o.MapBytes, defaultMapBytes)
	set(&o.VerifyBytes, defaultVerifyBytes)
	if o.NoteAfter == 0 {
		o.NoteAfter = defaultNoteAfter
	}
	return o
}

// log returns the options of the log.
func (o Options) log() acceptor.Options {
	return acceptor.Options{InitialBytes: o.LogInitialBytes, GrowBytes: o.LogGrowBytes, JournalBytes: o.JournalBytes,
		FlushBytes: o.FlushBytes, NoteAfter: o.NoteAfter, MapBytes: o.MapBytes}
}

// state returns the options of the state database.
func (o Options) state() state.Options {
	return state.Options{PartBytes: o.CheckpointPartBytes, MapBytes: o.MapBytes, VerifyBytes: o.VerifyBytes,
		FailWithoutSpace: o.FailWithoutSpace}
}
