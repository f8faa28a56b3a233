package archiver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenure/multipaxos"
	"tenure/server/archive"
)

// pageBytes is how much of the log is read at a time.
const pageBytes = 1 << 20

// errOwnLog is wrapped by errors of the node's own log, which end the node.
var errOwnLog = errors.New("the archive cannot read the log")

// line is the end of the archive, at which this node writes.
type line struct {
	builder *archive.Builder // of the next segment
	// The segment that is to be written, and is tried again until it is.
	name    archive.Segment
	segment []byte
}

// step puts what is chosen into the next segment, writes it if it is due, and reports whether one was written. What is
// not written is not lost: the log has it, and is kept from the last segment on that was.
func (a *Archiver) step(ctx context.Context) (wrote bool, err error) {
	l := a.line
	for {
		if l.segment == nil {
			if err := a.gather(); err != nil || a.line == nil {
				return wrote, err
			}
			if !l.builder.Due(a.cfg.Clock.Now()) || !a.encode() {
				return wrote, nil
			}
		}
		if err := a.put(ctx, l.name.Name(a.cfg.Cluster), l.segment); err != nil {
			return wrote, err
		}
		a.metrics.bytes.Add(float64(len(l.segment)))
		a.metrics.segments.Inc()
		a.archived(l.name)
		l.segment, wrote = nil, true
	}
}

// gather reads the log into the next segment as far as that takes it. If the log has been truncated there the archive
// has a gap: the line ends.
func (a *Archiver) gather() error {
	view, b := a.cfg.Log.View(), a.line.builder
	through := min(view.Applied, view.Synced)
	for !b.Full() && b.Next() <= through {
		entries, err := a.cfg.Store.Entries(multipaxos.Slot(b.Next()), multipaxos.Slot(through), pageBytes)
		if err != nil {
			return fmt.Errorf("%w: %w", errOwnLog, err)
		}
		if len(entries) == 0 || uint64(entries[0].Slot) != b.Next() {
			a.gap()
			return nil
		}
		for _, e := range entries {
			if uint64(e.Slot) != b.Next() {
				break
			}
			b.Add(uint64(e.Slot), e.Value, a.cfg.Clock.Now())
			if b.Full() {
				break
			}
		}
	}
	return nil
}

// gap notes that the log does not reach back to the end of the archive, which goes on from here with a new chain and a
// full copy.
func (a *Archiver) gap() {
	a.mu.Lock()
	reached, full, verified := time.UnixMilli(a.told.ReachedMS), a.told.Full, a.told.Verified
	a.mu.Unlock()
	first := a.cfg.Log.View().Applied + 1
	a.cfg.Logger.Error().Uint64("first", a.line.builder.Next()).Uint64("last", first-1).
		Msg("the archive has a gap: these slots were truncated before they could be archived")
	a.begin(archive.Resumed{First: first, Before: archive.BeginChain(a.cfg.Cluster, first), Reached: reached, New: true,
		Gap: true}, &archive.Listing{})
	a.mu.Lock()
	a.told.Full, a.told.Verified = full, verified
	a.mu.Unlock()
}

// encode makes the segment that is to be written next. It is false if it is not known yet when its last slot was
// applied.
func (a *Archiver) encode() bool {
	l := a.line
	a.mu.Lock()
	name, segment, ok := l.builder.Encode(&a.moments)
	a.mu.Unlock()
	if !ok {
		return false
	}
	l.name, l.segment = name, segment
	l.builder = archive.NewBuilder(a.cfg.Cluster, name.Last+1, name.After)
	return true
}

// archived notes that a segment is durable at the target.
func (a *Archiver) archived(s archive.Segment) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told.Slot, a.told.ReachedMS = s.Last, s.Reached.UnixMilli()
}
