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
	// listEvery is how often the full copies are listed again: another node may have made one.
	listEvery = 10 * time.Minute
	// copyRetry is how long after a failure a full copy or a verification is tried again.
	copyRetry = 20 * time.Second
	// readPointFor is how long a full copy waits for a read point.
	readPointFor = 10 * time.Second
)

// copies makes full copies, verifies them and deletes what has expired while this node archives, until stop is closed.
func (a *Archiver) copies(stop <-chan struct{}) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go func() {
		<-stop
		cancel(errStopping)
	}()
	ticker := time.NewTicker(copiesEvery)
	defer ticker.Stop()
	var c keeper
	for {
		select {
		case <-stop:
			return nil
		case <-ticker.C:
		}
		if !a.isActive() {
			c = keeper{}
			continue
		}
		a.keep(ctx, &c)
	}
}

// keeper is what a.copies knows.
type keeper struct {
	list   archive.Listing // of full copies and verifications
	listed time.Time
	after  map[work]time.Time // before which a work is not tried again
}

// keep does what is due.
func (a *Archiver) keep(ctx context.Context, c *keeper) {
	now := a.now()
	if c.after == nil {
		c.after = map[work]time.Time{}
	}
	attempt := func(w work, due bool, do func() error) bool {
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
		a.worked(w)
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

// relist lists the full copies, and shows them.
func (a *Archiver) relist(ctx context.Context, c *keeper) error {
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

// fullDue reports whether a full copy is due: by the schedule, or since the archive has begun anew behind the newest
// one.
func (a *Archiver) fullDue(c *keeper, now time.Time) bool {
	a.mu.Lock()
	begins := a.begins
	a.mu.Unlock()
	n := len(c.list.Fulls)
	return a.cfg.Schedule.FullDue(&c.list, now) || begins > 0 && c.list.Fulls[n-1].Slot+1 < begins
}

// full makes a full copy.
func (a *Archiver) full(ctx context.Context, c *keeper) error {
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
	b, err := backup.Open(bytes.NewReader(r.rest)) // the first piece has the header
	if err != nil {
		return err
	}
	i := b.Info()
	f := archive.Full{Slot: i.Slot, Revision: i.Revision, Made: a.now(), Node: uint64(a.cfg.Self)}
	return a.cfg.Target.Put(ctx, f.Name(a.cfg.Cluster), r)
}

// copyReader reads a Copy.
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

// retain deletes what has expired. The segments are listed for the hours of the full copies that are given up.
func (a *Archiver) retain(ctx context.Context, c *keeper) error {
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

// hourMargin is how far the time of a segment may be from that of a full copy beside it: the clocks of two nodes
// differ.
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
