package space

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"tenure/storage/internal/disk"
)

// Usage is what the store takes and what is left, as of the last Refresh.
type Usage struct {
	LogBytes       int64 // in use in log.db, and pending for it: falls with truncation, though the file keeps its size
	StateBytes     int64 // in use in state.db: falls with deletions, likewise
	LogFileBytes   int64 // size of log.db, zeros ahead of the log included
	StateFileBytes int64 // size of state.db
	JournalBytes   int64 // size of the journal, which does not change
	FreeBytes      int64 // of the file system, for this user
	QuotaBytes     int64 // 0: none
	ReserveBytes   int64 // where Low begins
	// Low: the reserve or the quota is reached. New data is to be refused; reads and deletes go on, and end it. It
	// begins when state.db has less than ReserveBytes of space, or log.db less than that and than half its own size, or
	// when LogBytes and StateBytes reach the quota. Space is free space of the file system and space that the file can
	// use again. Neither file ever gets smaller: deletes heal the state, and checkpoints and truncation the log. It
	// ends when there is a quarter more space than that, and a twentieth of the quota is free.
	Low bool
	// Tight: half of that space is left, at most 32 MiB. Entries that need space are not to be stored any more, even if others have
	// accepted them. The quota has no part in Tight or Full: it governs new data, never data that is stored or learned.
	Tight bool
	// Full: less than a quarter of that space is left, at most 16 MiB. Deletes too are to be refused now: they take space in the log.
	Full bool
	// HeldBytes are kept in the reserve file: free space that nobody else can take. They count as space.
	HeldBytes int64
	// CheckpointBytes is how many bytes of changes may gather for a checkpoint: with all that it writes it stays within
	// the reserve.
	CheckpointBytes int64
}

// Account is what a store takes of its file system, and what is left. It is safe for concurrent use.
type Account struct {
	Reserve Reserve

	failure    *disk.Failure
	quotaBytes int64
	// reserveBytes is where Low begins; 0 stands for the default.
	reserveBytes int64
	mu           sync.Mutex // held by a Refresh
	newest       atomic.Pointer[Usage]
}

// NewAccount returns the account of the store in a directory. A quota of 0 is none, and a reserve of 0 stands for the
// default: an eighth of the file system, at most 256 MiB.
func NewAccount(failure *disk.Failure, files disk.Files, quotaBytes, reserveBytes int64) *Account {
	return &Account{failure: failure, quotaBytes: quotaBytes, reserveBytes: reserveBytes, Reserve: Reserve{files: files}}
}

// Usage returns what the last Refresh found, or the zero value before the first one. It is cheap.
func (a *Account) Usage() Usage {
	if u := a.newest.Load(); u != nil {
		return *u
	}
	return Usage{}
}

// Taken is what the files of a store take.
type Taken struct {
	Log, State   Measures
	JournalBytes int64 // size of the journal
	PendingBytes int64 // of the journal that log.db does not have
}

// Refresh measures the file system anew, and the files of the store by measure. It takes microseconds and never waits
// for a sync. It returns the error that ended the store, if it has ended.
func (a *Account) Refresh(measure func() (Taken, error)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.failure.Err(); err != nil {
		return err
	}
	free, total, err := Free(a.Reserve.files.Dir)
	if err != nil {
		return disk.Unusable("%w", err)
	}
	taken, err := measure()
	if err != nil {
		return err
	}
	u := Usage{
		LogBytes: taken.Log.Live + taken.PendingBytes, LogFileBytes: taken.Log.File, JournalBytes: taken.JournalBytes,
		StateBytes: taken.State.Live, StateFileBytes: taken.State.File,
		FreeBytes: free, QuotaBytes: a.quotaBytes, ReserveBytes: a.reserveBytes,
	}
	if u.ReserveBytes == 0 {
		u.ReserveBytes = defaultReserve(total)
	}
	a.Reserve.hold(&u)
	// Only half of the free pages of state.db count: a large value needs many of them in a row.
	space := u.FreeBytes + u.HeldBytes
	u.CheckpointBytes = checkpointBytes(total, u.QuotaBytes)
	u.classify(a.Usage(), space+taken.Log.Reusable-taken.PendingBytes, space+taken.State.Reusable/2)
	a.newest.Store(&u)
	return nil
}

// checkpointBytes returns a sixty-fourth of total or quota, because a checkpoint writes its changes twice, and the log
// has them too.
func checkpointBytes(total, quota int64) int64 {
	if quota > 0 {
		total = min(total, quota)
	}
	return max(total/64, MinCheckpointBytes)
}

// MinCheckpointBytes is the least that CheckpointBytes allows.
const MinCheckpointBytes = 256 << 10

// classify sets Low, Tight and Full from the space of each file, and from what they were.
func (u *Usage) classify(was Usage, logSpace, stateSpace int64) {
	logNeed := min(u.ReserveBytes, u.LogFileBytes/2)
	below := func(part int64, was bool) bool {
		state, log := u.ReserveBytes/part, logNeed/part
		if part > 1 { // of a large reserve, what is held of it must do
			state, log = min(state, maxHeldBytes*2/part), min(log, maxHeldBytes*2/part)
		}
		if was {
			state, log = state+state/4, log+log/4
		}
		return stateSpace < state || logSpace < log
	}
	quota := u.QuotaBytes
	if was.Low {
		quota -= quota / 20
	}
	u.Low = below(1, was.Low) || u.QuotaBytes > 0 && u.LogBytes+u.StateBytes >= quota
	u.Tight = below(2, was.Tight)
	u.Full = below(4, was.Full)
}

// Measures are of one file.
type Measures struct {
	Live     int64 // bytes of pages that hold something and are not about to be free
	File     int64 // its size
	Reusable int64 // bytes that it has on disk and does not use
}

// Measure returns the measures of f, the file of db, as of tx, which is a view of it.
func Measure(db *bolt.DB, tx *bolt.Tx, f *os.File) (Measures, error) {
	pages := db.Stats()
	live := max(0, tx.Size()-int64(pages.FreePageN+pages.PendingPageN)*int64(db.Info().PageSize))
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return Measures{}, disk.CannotStat(f.Name(), err)
	}
	return Measures{Live: live, File: st.Size, Reusable: max(0, min(st.Size, st.Blocks*512)-live)}, nil
}

// Free returns what the file system of dir has left for this user, and its size.
func Free(dir string) (free, total int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, fmt.Errorf("cannot ask for the free space of %s: %w; check its permissions and the disk", dir, err)
	}
	if st.Blocks == 0 {
		return unknownBytes, unknownBytes, nil
	}
	return int64(st.Bavail) * int64(st.Bsize), int64(st.Blocks) * int64(st.Bsize), nil
}

// unknownBytes stands for the size of a file system that does not report one.
const unknownBytes = 1 << 50

// StartBytes is the least space with which an existing store opens, besides the bytes that wait in its journal. It
// is enough for the start record, and for the commits by which deletes heal the store.
const StartBytes = 256 << 10
