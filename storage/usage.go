package storage

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
	// Tight: half of that space is left. Entries that need space are not to be stored any more, even if others have
	// accepted them. The quota has no part in Tight or Full: it governs new data, never data that is stored or learned.
	Tight bool
	// Full: less than a quarter of that space is left. Deletes too are to be refused now: they take space in the log.
	Full bool
	// HeldBytes are kept in the reserve file: free space that nobody else can take. They count as space.
	HeldBytes int64
	// CheckpointBytes is how many bytes of changes may gather for a checkpoint: with all that it writes it stays within
	// the reserve.
	CheckpointBytes int64
}

// space is what the store takes of its file system, and what is left.
type space struct {
	reserve reserve
	mu      sync.Mutex // held by a Refresh
	newest  atomic.Pointer[Usage]
}

// usage returns what the last Refresh found.
func (s *space) usage() Usage {
	if u := s.newest.Load(); u != nil {
		return *u
	}
	return Usage{}
}

// Usage returns what the last Refresh found. It is cheap and safe for concurrent use.
func (s *Store) Usage() Usage { return s.space.usage() }

// Refresh measures the files and the file system anew. The server calls it about once a second, and before it gives
// up Low; it takes microseconds and never waits for a sync. Safe for concurrent use.
func (s *Store) Refresh() error {
	s.space.mu.Lock()
	defer s.space.mu.Unlock()
	if err := s.failure.Err(); err != nil {
		return err
	}
	free, total, err := freeBytes(s.files.Dir)
	if err != nil {
		return disk.Unusable("%w", err)
	}
	logSize, err := s.log.measure()
	if err != nil {
		return err
	}
	stateSize, err := s.state.measure()
	if err != nil {
		return err
	}
	pending := s.log.pending.size()
	u := Usage{
		LogBytes: logSize.live + pending, LogFileBytes: logSize.file, JournalBytes: s.log.ring.Bytes(),
		StateBytes: stateSize.live, StateFileBytes: stateSize.file,
		FreeBytes: free, QuotaBytes: s.options.QuotaBytes, ReserveBytes: s.options.ReserveBytes,
	}
	if u.ReserveBytes == 0 {
		u.ReserveBytes = defaultReserve(total)
	}
	s.space.reserve.hold(&u)
	// Only half of the free pages of state.db count: a large value needs many of them in a row.
	space := u.FreeBytes + u.HeldBytes
	u.CheckpointBytes = checkpointBytes(total, u.QuotaBytes)
	u.classify(s.space.usage(), space+logSize.reusable-pending, space+stateSize.reusable/2)
	s.space.newest.Store(&u)
	return nil
}

// checkpointBytes returns a sixty-fourth of total or quota, because a checkpoint writes its changes twice, and the log
// has them too.
func checkpointBytes(total, quota int64) int64 {
	if quota > 0 {
		total = min(total, quota)
	}
	return max(total/64, minCheckpointBytes)
}

const minCheckpointBytes = 256 << 10

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

// measures are of one file.
type measures struct {
	live     int64 // bytes in use
	file     int64 // its size
	reusable int64 // bytes that it has on disk and does not use, as far as bbolt takes them before others
	blocks   int64 // bytes that it has on disk and does not use
}

func measure(db *bolt.DB, tx *bolt.Tx, f *os.File) (measures, error) {
	u := usedBytes(db, tx)
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return measures{}, disk.CannotStat(f.Name(), err)
	}
	m := measures{live: u.live, file: st.Size}
	m.blocks = max(0, min(st.Size, st.Blocks*512)-u.live)
	m.reusable = m.blocks
	return m, nil
}

// freeBytes returns what the file system of dir has left for this user, and its size.
func freeBytes(dir string) (free, total int64, err error) {
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

// startSpaceBytes is the least space with which an existing store opens, besides the bytes that wait in its journal. It
// is enough for the start record, and for the commits by which deletes heal the store.
const startSpaceBytes = 256 << 10

// checkSpace returns an error if there is less space than a start needs.
func (s *Store) checkSpace() error {
	u := s.Usage()
	logSize, err := s.log.measure()
	if err != nil {
		return err
	}
	need := startSpaceBytes + s.log.pending.size()
	if space := u.FreeBytes + u.HeldBytes + logSize.reusable; space < need {
		return disk.Unusable("no space in %s: %d bytes are left and a start needs %d; "+
			"free some space on its file system", s.files.Dir, space, need)
	}
	return nil
}
