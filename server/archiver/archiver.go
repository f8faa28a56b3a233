// Package archiver writes the archive of a cluster (package archive) to a target while a node runs.
//
//	archiver.go  Config, Archiver
//	observe.go   what every node does: records when each slot was applied, and keeps the log that is not archived
//	ship.go      what the master does: finds the end of the archive and writes segments
//	step.go      builds the next segment from the node's own log
//	copies.go    full copies and retention
//	verify.go    restores what was archived and compares it with the node's state
//	remote.go    the archive at the target: what is there, and how it is written
//	problems.go  which tasks fail
//	report.go    metrics and status
//	objects.go   reads archived objects for a restore
//
// Any number of nodes may be configured to archive; the master does it. A deposed master does not notice at once, so
// two nodes may archive at the same time. That is harmless: both write the same slots, and the name of an object
// depends on its content. See DESIGN.md.
//
// Nothing here delays the cluster: the goroutines read published views and the log on disk. The log keeps the slots
// that are not yet archived, up to a bound; there is no other queue.
package archiver

import (
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/archive"
	"tenure/server/backup/target"
	"tenure/server/replica"
	"tenure/server/runner"
	"tenure/server/wire"
	"tenure/storage"
)

// Copy is a stream of one backup; it has the methods of web.Backup. Next returns io.EOF after the last piece.
type Copy interface {
	Next() ([]byte, error)
	Close(err error)
}

// Log is what an Archiver uses of runner.Log.
type Log interface {
	View() *runner.LogView
	Do(func(part *replica.Log)) bool
	Checkpoint(timeout time.Duration) error
}

// Config configures an Archiver. All fields are required. The Archiver does not close Target.
type Config struct {
	Target   target.Target
	Schedule archive.Schedule
	// Readable is true if this node can read what it archives, because it has an identity or does not encrypt. Only
	// such a node verifies.
	Readable bool
	// KeepLogBytes is the size above which log.db is no longer kept for the archive.
	KeepLogBytes int64
	Data         string // the data directory; verification uses a temporary directory in it
	Self         ballot.NodeID
	Cluster      ident.ClusterID
	Members      *runner.Members
	Clock        interface{ Now() time.Duration }
	Wall         func() time.Time // wall-clock time
	Mastership   *runner.Mastership
	Log          Log
	State        *runner.State
	Store        *storage.Store
	Disk         *runner.Disk
	Send         runner.Sender
	Backup       func(timeout time.Duration) (Copy, error)
	Lifecycle    *runner.Lifecycle
	Registry     prometheus.Registerer
	Logger       zerolog.Logger
}

// Archiver archives while this node is the master. While another node is, it tracks how far that one has come. Its
// exported methods are safe for concurrent use.
type Archiver struct {
	cfg      Config
	objects  Objects
	remote   remote
	problems problems
	metrics  counters
	now      func() time.Time

	mu      sync.Mutex
	moments archive.Moments
	told    wire.Archived  // the newest known progress of the archive, if known
	teller  ballot.NodeID  // the node that reported told
	known   bool           // whether told has been set
	active  bool           // this node archives and has found the end of the archive
	begun   uint64         // how often the archive was continued here elsewhere than where this node had stopped
	lost    api.ArchiveGap // the newest gap that this node has found; zero if none

	// Used by the goroutine of ship only:
	tail        *tail         // nil while this node does not archive
	retryAt     time.Duration // Clock reading before which the target is not tried again
	lastContact time.Duration // Clock reading of the target's last answer

	// Used by the goroutine of observe only:
	pinned   uint64 // the slot last passed to replica.Log.Pin
	unpinned bool   // the log is not kept for the archive: it is too large, or space is short
}

// New returns an Archiver and registers its metrics. It does nothing until its Loops run.
func New(c Config) *Archiver {
	a := &Archiver{cfg: c, objects: Objects{c.Target}, now: c.Wall,
		remote: remote{target: c.Target, cluster: c.Cluster, now: c.Wall},
		problems: problems{log: c.Logger, target: c.Target.String(), now: c.Wall,
			failures: map[task]prometheus.Counter{}, last: map[task]problem{}}}
	a.register(c.Registry)
	return a
}

// Loops returns the functions to run as goroutines. A failing target does not end them; only an error of the node's own
// log does.
func (a *Archiver) Loops() []runner.Loop { return []runner.Loop{a.observe, a.ship, a.copies} }

// Told records what the archiving node reports about its progress. It does not block.
func (a *Archiver) Told(from ballot.NodeID, t wire.Archived) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.active || a.known && older(t, a.told) {
		return
	}
	a.told, a.teller, a.known = t, from, true
}

// older reports whether t was said before what is known. Slot may fall: one node has found a gap, and another one goes
// on before it.
func older(t, known wire.Archived) bool {
	if t.Stored == 0 {
		return t.Slot < known.Slot
	}
	return t.Stored < known.Stored
}

var errStopping = errors.New("this node is stopping")
