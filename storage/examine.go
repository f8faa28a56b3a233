package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"tenure/internal/ballot"
	"tenure/internal/lostfound"
	"tenure/internal/oslimit"
	"tenure/multipaxos"
	"tenure/storage/internal/acceptor"
	"tenure/storage/internal/disk"
	"tenure/storage/journal"
)

// Examination describes the directory of a stopped node. Examine changes nothing, so the directory may be on a file
// system that is mounted read-only. If the directory has a lock file, no node can start on it until Close. It is not
// safe for concurrent use.
type Examination struct {
	Dir   string
	Files []FileInfo
	// Problems are the reasons why a node would not start on the directory, or would end; at most one for each file.
	Problems []Problem
	// Copied is why no node starts on a directory that is a copy, whatever is in it; "" if it is none.
	Copied string
	// Notes are findings that do not keep a node from starting.
	Notes []string

	Identity *Identity    // nil if it cannot be read
	Start    *StartRecord // likewise
	Log      *LogInfo     // nil if log.db is damaged
	Journal  *JournalInfo // nil if the journal is damaged
	State    *StateInfo   // nil if the state database is damaged

	files disk.Files
	lock  *os.File // nil if there is no lock file
}

// FileInfo describes a file of the directory.
type FileInfo struct {
	Name  string
	Bytes int64
	What  string // its purpose; "" if it is no file of a node
}

// Problem is what is wrong with a file, in words.
type Problem struct{ File, Text string }

// LogInfo describes log.db.
type LogInfo struct {
	Promised  ballot.Ballot
	Chosen    multipaxos.Slot // every slot through it is known to be chosen
	Truncated multipaxos.Slot // entries through it are gone
	First     multipaxos.Slot // the lowest slot with an entry, 0 if there is none
	Last      multipaxos.Slot
	Entries   uint64
	Digest    uint64 // of the entries; recomputed and right

	marks acceptor.Marks
}

// JournalInfo describes the commits that are in the journal and not in log.db.
type JournalInfo struct {
	Bytes   int64
	Records int
	CutOff  bool // an incomplete commit follows them, which was never acknowledged
	// Durable are the marks of the log with these records.
	Durable multipaxos.Durable

	records []journal.Record
}

// StateInfo describes the state database.
type StateInfo struct {
	Slot    multipaxos.Slot // of the newest complete checkpoint
	Records uint64
	Digest  uint64 // of the records; recomputed and right
	// Unfinished is the slot of an interrupted checkpoint, which the next start completes, or 0.
	Unfinished multipaxos.Slot
	Meta       []byte // kv's own record
}

// Examine reads all files in the directory of a stopped node. Damage is part of the result, not an error. The error
// wraps ErrUnusable if there is no store in dir, and ErrInUse while a node runs on it.
func Examine(dir string) (*Examination, error) {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return nil, disk.Unusable("cannot look at %s: %w; name the data directory of a node", dir, disk.Plain(err))
	case !info.IsDir():
		return nil, disk.Unusable("%s is a file and no data directory", dir)
	}
	x := &Examination{Dir: dir, files: disk.Files{Dir: dir}}
	if err := x.list(); err != nil {
		return nil, err
	}
	if err := plainFiles(x.files); err != nil {
		return nil, err
	}
	if err := x.hold(); err != nil {
		return nil, err
	}
	x.readLog()
	x.readJournal()
	x.readState()
	x.readReceived()
	if err := refuseDiffers(x.files); err != nil {
		x.problem(differsName, err)
	}
	return x, nil
}

// Close lets nodes start on the directory again.
func (x *Examination) Close() error { return disk.CloseFiles(x.lock) }

// list lists the files. It refuses a directory without files of a node.
func (x *Examination) list() error {
	entries, err := lostfound.ReadDir(x.files.Dir)
	if other := checkOwner(x.files.Dir); errors.Is(err, fs.ErrPermission) && other != nil {
		return other
	}
	if err != nil {
		return disk.Unusable("cannot look into %s: %w", x.files.Dir, disk.Plain(err))
	}
	known := false
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return disk.CannotStat(filepath.Join(x.files.Dir, e.Name()), err)
		case info.IsDir():
			continue // files that were moved aside
		}
		f := FileInfo{Name: e.Name(), Bytes: info.Size(), What: purposes[e.Name()]}
		if f.What == "" {
			x.Notes = append(x.Notes, fmt.Sprintf("%s is no file of this release's nodes: nothing reads it", f.Name))
		}
		known = known || f.Name == disk.LogName || f.Name == disk.StateName || f.Name == disk.JournalName
		x.Files = append(x.Files, f)
	}
	switch {
	case len(entries) == 0:
		return disk.Unusable("%s is empty: it holds no store; a node that is started on it joins, or begins, a cluster",
			x.files.Dir)
	case !known:
		return disk.Unusable("%s holds no store: it has no file %s; name the data directory of a node", x.files.Dir,
			disk.LogName)
	}
	return nil
}

// hold takes a shared lock on the lock file, if there is one, so that no node starts meanwhile. It writes nothing.
func (x *Examination) hold() error {
	f, err := oslimit.Open(filepath.Join(x.files.Dir, lockName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return disk.Unusable("cannot open %s: %w", filepath.Join(x.files.Dir, lockName), disk.Plain(err))
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return fmt.Errorf("%w: %s is held by %s; stop that node first", ErrInUse, x.files.Dir, holder(f))
		}
		return disk.Unusable("cannot lock %s: %w", f.Name(), err)
	}
	x.lock = f
	return nil
}

// problem records what is wrong with a file.
func (x *Examination) problem(name string, err error) {
	x.Problems = append(x.Problems, Problem{File: name, Text: err.Error()})
}

// open opens a file for reading. A file that is missing or cannot be opened is a problem.
func (x *Examination) open(name string) (f *os.File, size int64, ok bool) {
	f, err := oslimit.Open(filepath.Join(x.files.Dir, name))
	if err == nil {
		size, err = disk.Size(f)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = errors.New("the file is missing")
	case err == nil:
		return f, size, true
	}
	x.problem(name, disk.Plain(err))
	return nil, 0, false
}
