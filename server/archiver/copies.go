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
}

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
			a.failed(w, err)
			return false
		}
		delete(c.after, w)
		a.succeeded(w)
		return true
	}
	if now.Sub(c.listed).Abs() >= listEvery && !attempt(fullCopies, true, func() error { return a.relist(ctx, c) }) {
		return
	}
	if attempt(fullCopies, a.fullDue(c, now), func() error { return a.full(ctx, c) }) {
		attempt(retention, true, func() error { return a.retain(ctx, c) })
	}
	if a.cfg.Readable {
		attempt(verification, a.cfg.Schedule.VerifyDue(&c.list, a.now()), func() error { return a.verify(ctx, c) })
	}
}

// relist lists the full copies and verifications, and publishes the newest ones.
func (a *Archiver) relist(ctx context.Context, c *copyState) error {
	names, err := a.names(ctx, archive.FullPrefix(a.cfg.Cluster), archive.VerifiedPrefix(a.cfg.Cluster))
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

// fullDue reports whether a full copy is due: by the schedule, or because a new chain has begun after the newest one.
func (a *Archiver) fullDue(c *copyState, now time.Time) bool {
	a.mu.Lock()
	chainStart := a.chainStart
	a.mu.Unlock()
	n := len(c.list.Fulls)
	return a.cfg.Schedule.FullDue(&c.list, now) || chainStart > 0 && c.list.Fulls[n-1].Slot+1 < chainStart
}

// full makes a full copy and stores it.
func (a *Archiver) full(ctx context.Context, c *copyState) error {
	if err := a.probe(ctx); err != nil { // not into a directory that was made in the place of one that is away
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
	f := archive.Full{Slot: i.Slot, Revision: i.Revision, Made: a.now(), Node: uint64(a.cfg.Self)}
	return a.cfg.Target.Put(ctx, f.Name(a.cfg.Cluster), r)
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
	for _, hour := range archive.Hours(l.Fulls[0].Made.Add(-hourMargin), kept[0].Made.Add(hourMargin)) {
		names, err := a.names(ctx, archive.HourPrefix(a.cfg.Cluster, hour))
		if err != nil {
			return err
		}
		l.Segments = archive.List(a.cfg.Cluster, names).Segments
		if err := a.delete(ctx, archive.ExpiredSegments(&l, kept)); err != nil {
			return err
		}
	}
	err := a.delete(ctx, archive.ExpiredCopies(&l, kept))
	return errors.Join(err, a.relist(ctx, c))
}

// hourMargin allows for different clocks on two nodes when the time of a full copy selects the hours of its segments.
const hourMargin = 2 * time.Hour

func (a *Archiver) delete(ctx context.Context, names []string) error {
	for _, name := range names {
		ctx, cancel := context.WithTimeout(ctx, putFor)
		err := a.cfg.Target.Delete(ctx, name)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}
