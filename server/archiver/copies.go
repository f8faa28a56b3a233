package archiver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"tenure/server/archive"
	"tenure/server/backup"
)

const (
	copiesEvery = time.Second
	// listEvery is the time between two listings of the full copies: another node may have made one.
	listEvery = 10 * time.Minute
	// copyRetry is the wait after a failure before a full copy or a verification is tried again.
	copyRetry = 20 * time.Second
	// readPointFor bounds the wait of a full copy for a read point.
	readPointFor = 10 * time.Second
)

// copies makes full copies, verifies them and deletes expired objects while this node archives. It returns when stop is
// closed.
func (a *Archiver) copies(stop <-chan struct{}) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go func() {
		<-stop
		cancel(errStopping)
	}()
	ticker := time.NewTicker(copiesEvery)
	defer ticker.Stop()
	var c copyState
	for {
		select {
		case <-stop:
			return nil
		case <-ticker.C:
		}
		if !a.isActive() {
			c = copyState{}
			continue
		}
		a.runDue(ctx, &c)
	}
}

// copyState is the state of the copies loop during one mastership.
type copyState struct {
	list   archive.Listing // full copies and verifications; no segments
	listed time.Time
	after  map[task]time.Time // when a failed task may be tried again
	// broken: the newest verification found an object that is damaged or missing, behind the newest full copy or it
	// itself. Only a full copy after it helps.
	broken bool
	healed time.Time // when a full copy was last made because of that
	made   time.Time // when this node last made one, by its own clock
	// cut: the newest full copy does not lead to where this node has continued the archive the begun-th time. 0: not
	// known.
	cut   bool
	begun uint64
}

// healEvery bounds how often a full copy is made because of damage: a target that damages all that it takes is not
// filled with copies.
const healEvery = time.Hour

// runDue runs the tasks that are due.
func (a *Archiver) runDue(ctx context.Context, c *copyState) {
	now := a.now()
	if c.after == nil {
		c.after = map[task]time.Time{}
	}
	attempt := func(w task, due bool, do func() error) bool {
		if !due || now.Before(c.after[w]) {
			return false
		}
		err := do()
		if ctx.Err() != nil {
			return false
		}
		if err != nil {
			c.after[w] = a.now().Add(copyRetry)
			if w == verification && c.broken { // the same would be read again and again
				c.after[w] = a.now().Add(listEvery)
			}
			a.problems.failed(w, err)
			return false
		}
		delete(c.after, w)
		a.problems.succeeded(w)
		return true
	}
	if now.Sub(c.listed).Abs() >= listEvery && !attempt(fullCopies, true, func() error { return a.relist(ctx, c) }) {
		return
	}
	if a.begunAnew(c) && !attempt(fullCopies, true, func() error { return a.findCut(ctx, c) }) {
		return
	}
	if attempt(fullCopies, a.fullDue(c, now), func() error { return a.full(ctx, c) }) {
		a.heal(c)
		attempt(retention, true, func() error { return a.retain(ctx, c) })
	}
	if a.cfg.Readable {
		attempt(verification, a.cfg.Schedule.VerifyDue(&c.list, a.now()), func() error { return a.verify(ctx, c) })
	}
}

// heal notes that a full copy was made: whatever is broken is before it.
func (a *Archiver) heal(c *copyState) {
	if !c.broken {
		return
	}
	c.broken, c.healed = false, a.now()
	delete(c.after, verification)
	a.cfg.Logger.Warn().Uint64("slot", c.list.Fulls[len(c.list.Fulls)-1].Slot).
		Msg("a full copy was made because the archive is damaged: what comes after it can be restored")
}

// relist lists the full copies and verifications, and publishes the newest ones.
func (a *Archiver) relist(ctx context.Context, c *copyState) error {
	names, err := a.remote.names(ctx, archive.FullPrefix(a.cfg.Cluster), archive.VerifiedPrefix(a.cfg.Cluster))
	if err != nil {
		return err
	}
	c.list, c.listed = archive.List(a.cfg.Cluster, names), a.now()
	full, verified := copiesOf(&c.list)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.active {
		a.told.Full, a.told.Verified = full, verified
	}
	return nil
}

// begunAnew reports whether this node has continued the archive since findCut looked.
func (a *Archiver) begunAnew(c *copyState) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return c.begun != a.begun
}

// findCut finds out from the list of objects whether the archive has a gap between the newest full copy and the slot
// after which this node has continued. The node that made the gap may have ended before it made a full copy.
func (a *Archiver) findCut(ctx context.Context, c *copyState) error {
	a.mu.Lock()
	begun, slot := a.begun, a.told.Slot
	a.mu.Unlock()
	l := c.list
	if n := len(l.Fulls); n > 0 && l.Fulls[n-1].Slot < slot {
		logs, err := a.remote.segmentsSince(ctx, l.Fulls[n-1].Made.Add(-hourMargin))
		if err != nil {
			return err
		}
		l.Segments = archive.List(a.cfg.Cluster, logs).Segments
	}
	c.begun, c.cut = begun, !l.LeadsTo(slot)
	return nil
}

// fullDue reports whether a full copy is due: by the schedule, because a gap is behind the newest one, or because the
// archive is broken behind it.
func (a *Archiver) fullDue(c *copyState, now time.Time) bool {
	if c.broken && now.Sub(c.healed).Abs() >= healEvery {
		return true
	}
	// If the times in the archive are ahead of this clock for long, since that of another node was, the list says
	// nothing.
	lately := !c.made.IsZero() && now.Sub(c.made).Abs() < a.cfg.Schedule.FullEvery
	return a.cfg.Schedule.FullDue(&c.list, now) && !lately || c.cut
}

// full makes a full copy and stores it.
func (a *Archiver) full(ctx context.Context, c *copyState) error {
	if err := a.remote.probe(ctx); err != nil { // not into a directory that was made in the place of one that is away
		return err
	}
	from, err := a.cfg.Backup(readPointFor)
	if err != nil {
		return err
	}
	r := &copyReader{from: from, ctx: ctx}
	err = a.putFull(ctx, r)
	from.Close(err)
	if err != nil {
		return err
	}
	a.metrics.bytes.Add(float64(r.bytes))
	c.made = a.now()
	c.begun = 0 // what it leads to is looked for anew
	return a.relist(ctx, c)
}

func (a *Archiver) putFull(ctx context.Context, r *copyReader) error {
	if err := r.next(); err != nil {
		return err
	}
	b, err := backup.Open(bytes.NewReader(r.rest)) // the header is in the first piece
	if err != nil {
		return err
	}
	i := b.Info()
	f := archive.Full{Slot: i.Slot, Revision: i.Revision, Made: a.reachedNow(), Node: uint64(a.cfg.Self)}
	return a.cfg.Target.Put(ctx, f.Name(a.cfg.Cluster), r)
}

// reachedNow returns the time for an object made from the present state: the clock's time, but not before the times of
// applied slots, which never decrease.
func (a *Archiver) reachedNow() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	newest, _ := a.moments.Newest()
	return time.UnixMilli(max(a.now().UnixMilli(), newest.TimeMS, a.told.ReachedMS))
}

// copyReader reads a Copy as an io.Reader, until ctx ends.
type copyReader struct {
	from  Copy
	ctx   context.Context
	rest  []byte
	bytes int64
}

func (r *copyReader) next() (err error) {
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	r.rest, err = r.from.Next()
	return err
}

// Read implements io.Reader.
func (r *copyReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	r.bytes += int64(n)
	return n, nil
}

var _ io.Reader = (*copyReader)(nil)

// retain deletes expired segments and copies. It lists segments only for the hours between the oldest full copy and the
// oldest one that is kept.
func (a *Archiver) retain(ctx context.Context, c *copyState) error {
	now, l := a.now(), c.list
	kept := a.cfg.Schedule.Kept(&l, now)
	if len(kept) == 0 || kept[0] == l.Fulls[0] {
		return nil
	}
	for _, prefix := range a.remote.prefixes(l.Fulls[0].Made.Add(-hourMargin), kept[0].Made.Add(hourMargin)) {
		names, err := a.remote.names(ctx, prefix)
		if err != nil {
			return err
		}
		l.Segments = archive.List(a.cfg.Cluster, names).Segments
		if err := a.remote.delete(ctx, archive.ExpiredSegments(&l, kept)); err != nil {
			return err
		}
	}
	err := a.remote.delete(ctx, archive.ExpiredCopies(&l, kept))
	return errors.Join(err, a.relist(ctx, c))
}

// hourMargin allows for different clocks on two nodes when the time of a full copy selects the hours of its segments.
const hourMargin = 2 * time.Hour
