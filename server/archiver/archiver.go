// Package archiver writes the archive of a cluster (package archive) to a target, from inside of a node.
//
//	archiver.go  Config, Archiver
//	observe.go   what every node does: which slot was applied when, and how much of the log is kept
//	ship.go      what the master does: finds the end of the archive, and writes segments
//	step.go      the next segment, from the node's own log
//	copies.go    full copies and retention
//	verify.go    restores what was archived, and compares
//	report.go    failures, figures and status
//	objects.go   what a restore reads
//
// Any number of nodes may be told to archive. The one that is the master does. Whatever it does may be done by another
// one at the same time, since a master that was deposed does not notice at once: names have what is in the objects, and
// both write the same slots. See DESIGN.md.
//
// Nothing here holds up the cluster: the goroutines read what others have published, and the log from the disk. What
// was not archived yet is kept in the log, within a bound, and nowhere else.
package archiver

import (
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/archive"
	"tenure/server/backup/target"
	"tenure/server/replica"
	"tenure/server/runner"
	"tenure/server/wire"
	"tenure/storage"
)

// Copy is a backup that is being read, as web.Backup.
type Copy interface {
	Next() ([]byte, error)
	Close(err error)
}

// Log is the node's log, as runner.Log.
type Log interface {
	View() *runner.LogView
	Do(func(part *replica.Log)) bool
	Checkpoint(timeout time.Duration) error
}

// Config is what an Archiver is made of. All fields are required.
type Config struct {
	Target   target.Target
	Schedule archive.Schedule
	// Readable tells that this node can decrypt what it writes, or that it does not encrypt: it can verify.
	Readable   bool
	Data       string // the data directory; verification makes a directory there
	Self       ballot.NodeID
	Cluster    ident.ClusterID
	Members    *runner.Members
	Clock      interface{ Now() time.Duration }
	Wall       func() time.Time // the time for people
	Mastership *runner.Mastership
	Log        Log
	State      *runner.State
	Store      *storage.Store
	Disk       *runner.Disk
	Send       runner.Sender
	Backup     func(timeout time.Duration) (Copy, error)
	Lifecycle  *runner.Lifecycle
	Registry   prometheus.Registerer
	Logger     zerolog.Logger
}

// Archiver archives while this node is the master, and keeps up with who does while it is not.
type Archiver struct {
	cfg     Config
	objects Objects
	metrics figures
	now     func() time.Time

	mu       sync.Mutex
	moments  archive.Moments
	told     wire.Archived // how far the archive is, as far as known
	teller   ballot.NodeID // who has said so
	known    bool          // told is
	active   bool          // this node archives, and has found where the archive ends
	begins   uint64        // while active: the first slot of the chain, where a full copy must be at or behind
	problems map[work]problem

	// Of the goroutine of ship:
	line    *line
	waits   time.Duration // reading of the clock before which the target is not tried again
	contact time.Duration // reading at which the target last answered

	// Of the goroutine of observe:
	pinned  uint64
	outgrew bool
}

// New returns an Archiver before its first round. It registers its figures.
func New(c Config) *Archiver {
	a := &Archiver{cfg: c, objects: Objects{c.Target}, now: c.Wall, problems: map[work]problem{}}
	a.register(c.Registry)
	return a
}

// Loops returns the goroutines. A failure of the target ends none of them.
func (a *Archiver) Loops() []runner.Loop { return []runner.Loop{a.observe, a.ship, a.copies} }

// Told takes what the node that archives says. It never waits.
func (a *Archiver) Told(from ballot.NodeID, t wire.Archived) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.active || a.known && t.Slot < a.told.Slot {
		return
	}
	a.told, a.teller, a.known = t, from, true
}

var errStopping = errors.New("this node is stopping")
