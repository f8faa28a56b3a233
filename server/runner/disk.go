package runner

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/internal/clock"
	"tenure/lease"
	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/storage"
)

// DiskConfig is what a Disk is made of. All fields are required.
type DiskConfig struct {
	Store      *storage.Store
	Clock      *clock.Clock
	Quarantine lease.Quarantine
	// Began is the one reading from which the silence after a restart counts, the acceptor's and the disk's alike.
	Began    time.Duration
	Registry prometheus.Registerer
	Logger   zerolog.Logger
}

// Disk measures the disk and publishes what the log must know of it. It also scrubs state.db, gives back its free
// pages, and lowers on disk how long the next run is silent. Only the persister calls committed. The other methods are
// safe for concurrent use.
type Disk struct {
	cfg             DiskConfig
	space           atomic.Uint32 // a replica.Space
	stateDBBytes    atomic.Int64  // what decides how much is checkpointed at once
	checkpointBytes atomic.Int64  // what the disk has space for
	scrubbed        atomic.Int64  // Unix time in ns at which state.db was last read whole and found right; 0: not yet
	scrubTook       atomic.Int64  // ns that this took
	unmeasured      int           // bytes committed since the disk was last measured; the persister's
	written         time.Duration // the quarantine on disk
}

// measureEvery is the time between two looks at the disk.
const measureEvery = 250 * time.Millisecond

// NewDisk returns a Disk that has not measured yet. It registers its figures.
func NewDisk(c DiskConfig) *Disk {
	d := &Disk{cfg: c, written: c.Quarantine.AtStart}
	d.registerGauges()
	return d
}

// Loops returns the goroutines that look after the disk.
func (d *Disk) Loops() []Loop { return []Loop{d.run, d.scrub, d.giveBack} }

// Space returns how much space there is, as last measured.
func (d *Disk) Space() replica.Space { return replica.Space(d.space.Load()) }

// view returns what the log part must know, as last measured.
func (d *Disk) view() replica.Disk {
	return replica.Disk{Space: d.Space(), CheckpointBytes: d.checkpointBytes.Load(), StateDBBytes: d.stateDBBytes.Load()}
}

// Usage returns what was last measured.
func (d *Disk) Usage() storage.Usage { return d.cfg.Store.Usage() }

// run measures the disk until stop is closed.
func (d *Disk) run(stop <-chan struct{}) error {
	ticker := time.NewTicker(measureEvery)
	defer ticker.Stop()
	for {
		err := d.measure()
		if errors.Is(err, storage.ErrFailed) || errors.Is(err, storage.ErrDamaged) {
			return err // something in the background failed, and no commit may come that would tell
		}
		if err != nil {
			d.cfg.Logger.Warn().Err(err).Msg("cannot measure the disk")
		}
		if err := d.lowerQuarantine(); err != nil {
			return err
		}
		select {
		case <-stop:
			return nil
		case <-ticker.C:
		}
	}
}

// lowerQuarantine makes durable that the next run owes less silence, once this one has served its own. The quarantine
// of named leases is lowered with their bucket.
func (d *Disk) lowerQuarantine() error {
	r := d.cfg.Quarantine.Record(d.cfg.Clock.Now() - d.cfg.Began)
	if r == d.written {
		return nil
	}
	if err := d.cfg.Store.LowerQuarantine(r); err != nil {
		return err
	}
	d.written = r
	return nil
}

// measure measures the disk and publishes what it has found.
func (d *Disk) measure() error {
	if err := d.cfg.Store.Refresh(); err != nil {
		return err
	}
	u := d.cfg.Store.Usage()
	d.space.Store(uint32(spaceOf(u)))
	d.stateDBBytes.Store(checkpointedStateDB(u))
	d.checkpointBytes.Store(u.CheckpointBytes)
	return nil
}

// measureBytes is how many bytes are committed before the disk is measured again, whatever the time.
const measureBytes = 256 << 10

// committed measures the disk when much has been written since it last did: a fast client fills a small disk between
// two looks at it. An error shows at the next commit.
func (d *Disk) committed(ps []multipaxos.Persist) {
	for i := range ps {
		for j := range ps[i].Entries {
			d.unmeasured += len(ps[i].Entries[j].Value)
		}
	}
	if d.unmeasured >= measureBytes {
		d.unmeasured = 0
		_ = d.measure()
	}
}

// checkpointedStateDB returns the size of the state database, or 0 if the disk is short. That size sets how large
// checkpoints are, and a checkpoint copies every page that it touches before the old pages are free.
func checkpointedStateDB(u storage.Usage) int64 {
	if u.FreeBytes < u.StateBytes+4*u.ReserveBytes {
		return 0
	}
	return u.StateBytes
}

func spaceOf(u storage.Usage) replica.Space {
	switch {
	case u.Full:
		return replica.SpaceNone
	case u.Tight:
		return replica.SpaceTight
	case u.Low:
		return replica.SpaceLow
	}
	return replica.SpaceEnough
}
