package archiver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenure/multipaxos"
	"tenure/server/archive"
)

// pageBytes bounds one read of the log.
const pageBytes = 1 << 20

// errOwnLog is wrapped by errors of the node's own log. They end the node.
var errOwnLog = errors.New("the archive cannot read the log")

// tail is the end of the archive, where this node writes.
type tail struct {
	builder *archive.Builder // collects the next segment
	// hour is what the name of the segment stored last begins with. Before the first one of an hour the target is asked
	// whether it is still the right one: a directory made anew takes it like any other.
	hour string
}

// step moves applied slots from the log into segments, stores the segments that are due, and reports whether it stored
// any. Slots that are not stored are not lost: the log keeps everything after the last stored segment.
func (a *Archiver) step(ctx context.Context) (wrote bool, err error) {
	for {
		if err := a.gather(); err != nil || a.tail == nil {
			return wrote, err
		}
		if !a.tail.builder.Due(a.cfg.Clock.Now()) {
			return wrote, nil
		}
		name, segment, ok := a.encode()
		if !ok {
			return wrote, nil
		}
		if err := a.sameTarget(ctx, name); err != nil {
			return wrote, err
		}
		if err := a.remote.put(ctx, name.Name(a.cfg.Cluster), segment); err != nil {
			return wrote, err
		}
		a.metrics.bytes.Add(float64(len(segment)))
		a.metrics.segments.Inc()
		a.archived(name)
		wrote = true
	}
}

// sameTarget probes the target before the first segment of an hour.
func (a *Archiver) sameTarget(ctx context.Context, name archive.Segment) error {
	hour := archive.HourPrefix(a.cfg.Cluster, name.Reached)
	if hour == a.tail.hour {
		return nil
	}
	if err := a.remote.probe(ctx); err != nil {
		return err
	}
	a.tail.hour = hour
	return nil
}

// gather reads the log into the next segment until it is full. If the log no longer has the next slot, the archive has
// a gap and continues with a new chain.
func (a *Archiver) gather() error {
	view, b := a.cfg.Log.View(), a.tail.builder
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

// gap handles a log that no longer has the slot after the end of the archive: the archive continues after the newest
// applied slot, with a new chain and a full copy.
func (a *Archiver) gap() {
	a.mu.Lock()
	there := a.told
	a.mu.Unlock()
	first := a.cfg.Log.View().Applied + 1
	a.begin(archive.Resumed{First: first, Before: archive.BeginChain(a.cfg.Cluster, first), New: true,
		Reached: time.UnixMilli(there.ReachedMS), Gap: archive.Gap{First: there.Slot + 1, Last: first - 1}}, there)
}

// encode turns the collected slots into the segment to write, behind which the next one begins. It returns false if the
// time at which the last slot was applied is not known yet.
func (a *Archiver) encode() (name archive.Segment, segment []byte, ok bool) {
	a.mu.Lock()
	name, segment, ok = a.tail.builder.Encode(&a.moments)
	a.mu.Unlock()
	if ok {
		a.tail.builder = archive.NewBuilder(a.cfg.Cluster, name.Last+1, name.After)
	}
	return name, segment, ok
}

// archived records that a segment is durable at the target.
func (a *Archiver) archived(s archive.Segment) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told.Slot, a.told.Stored, a.told.ReachedMS = s.Last, s.Last, s.Reached.UnixMilli()
}
