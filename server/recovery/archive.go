package recovery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/archive"
	"tenure/server/backup"
	"tenure/storage"
)

// Archive reads the objects of an archive, decrypted. Its errors do not name the object; the callers do.
type Archive interface {
	// Full opens a full copy. The caller closes it.
	Full(ctx context.Context, c ident.ClusterID, f archive.Full) (io.ReadCloser, error)
	// Segment returns a segment of at most archive.MaxSegmentBytes.
	Segment(ctx context.Context, c ident.ClusterID, s archive.Segment) ([]byte, error)
}

// Restored is the progress of a restore from an archive.
type Restored struct {
	Revision uint64 // of the old cluster
	Slot     uint64
	Reached  time.Time // the state had been reached by then; zero if unknown
	Segments int       // number of segments read so far
}

// RestoreArchive makes dir the directory of a new cluster, like Restore, with the state that the archive from, listed
// in l, has at at. It applies slots up to the first command that would exceed at. If the newest full copy at or before
// at is damaged it calls note and uses the one before. It calls tell after each segment. An error about a segment names
// the segment and the last revision that can be restored.
func RestoreArchive(ctx context.Context, from Archive, l archive.Listing, at archive.At, dir string,
	note func(string), tell func(Restored)) (Result, Restored, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Result{}, Restored{}, err
	}
	if err := mustBeEmpty(dir); err != nil {
		return Result{}, Restored{}, err
	}
	for {
		plan, err := archive.PlanRestore(&l, at)
		if err != nil {
			return Result{}, Restored{}, err
		}
		r := replay{ctx: ctx, from: from, cluster: l.Cluster, plan: plan, tell: tell}
		out, err := r.restore(dir)
		if !errors.Is(err, backup.ErrDamaged) || !l.Drop(plan.Full) {
			return out, r.at, err
		}
		note(fmt.Sprintf("%v: the full copy before it is taken instead", err))
	}
}

// ReplayArchive restores the state of a plan into dir, an empty directory, and returns the number and the digest of the
// records of its state database, as storage.Store.Records does. No node can start on dir; the caller removes it.
func ReplayArchive(ctx context.Context, from Archive, c ident.ClusterID, plan archive.Plan, dir string) (records,
	digest uint64, err error) {
	to, err := storage.Open(dir, storage.Options{FailWithoutSpace: true})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	b := &rebuild{to: to, ballot: ballot.Ballot{Counter: 1, Restart: 1, Node: 1, Nonce: 1}}
	r := replay{ctx: ctx, from: from, cluster: c, plan: plan, tell: func(Restored) {}}
	full, err := r.open()
	if err != nil {
		return 0, 0, err
	}
	defer full.close()
	if err := r.fill(b, full); err != nil {
		return 0, 0, err
	}
	if err := b.checkpoint(); err != nil {
		return 0, 0, err
	}
	records, digest = to.Records()
	return records, digest, nil
}

// replay restores a state from a full copy and segments.
type replay struct {
	ctx     context.Context
	from    Archive
	cluster ident.ClusterID
	plan    archive.Plan
	tell    func(Restored)
	at      Restored
	after   archive.Chain // the chain after the last applied slot
	known   bool          // whether after is set
	ended   bool          // the end of the plan was reached
}

// opened is an open full copy.
type opened struct {
	*backup.Reader
	close func() error
}

// open opens the full copy of the plan and checks its header.
func (r *replay) open() (opened, error) {
	f := r.plan.Full
	in, err := r.from.Full(r.ctx, r.cluster, f)
	if err != nil {
		return opened{}, r.fullError(err)
	}
	b, err := backup.Open(untilEnd{r.ctx, in})
	if err == nil {
		if i := b.Info(); i.Cluster != r.cluster || i.Slot != f.Slot || i.Revision != f.Revision {
			err = fmt.Errorf("%w: it is of cluster %s, slot %d and revision %d", backup.ErrDamaged, i.Cluster, i.Slot,
				i.Revision)
		}
	}
	if err != nil {
		return opened{}, errors.Join(r.fullError(err), in.Close())
	}
	return opened{b, in.Close}, nil
}

// untilEnd reads until ctx ends.
type untilEnd struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (u untilEnd) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.r.Read(p)
}

func (r *replay) fullError(err error) error {
	return fmt.Errorf("the full copy %s: %w", r.plan.Full.Name(r.cluster), err)
}

// restore makes dir the directory of a new cluster.
func (r *replay) restore(dir string) (Result, error) {
	full, err := r.open()
	if err != nil {
		return Result{}, err
	}
	defer full.close()
	return fromBackup(dir, full.Reader, "the full copy", func(b *rebuild) error { return r.fill(b, full) })
}

// fill restores the full copy into b and applies the segments up to the end of the plan.
func (r *replay) fill(b *rebuild, full opened) error {
	if err := b.restore(full.Reader); err != nil {
		return r.fullError(err)
	}
	r.at = Restored{Revision: b.state.Revision(), Slot: b.state.Applied(), Reached: r.plan.Full.Made}
	for _, s := range r.plan.Segments {
		if r.ended {
			break
		}
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		if err := r.segment(b, s); err != nil {
			return err
		}
		r.at.Segments++
		r.tell(r.at)
	}
	return r.end()
}

// end returns an error if the segments end before the plan does.
func (r *replay) end() error {
	p := &r.plan
	last := fmt.Sprintf("the last revision that can be restored is %d (--at %d)", r.at.Revision, r.at.Revision)
	switch {
	case p.At.Revision > 0 && r.at.Revision > p.At.Revision:
		panic(fmt.Sprintf("recovery: a restore to revision %d is at %d", p.At.Revision, r.at.Revision))
	case r.ended || p.At.Revision > 0 && r.at.Revision == p.At.Revision:
		return nil
	case p.Missing.First > 0:
		return fmt.Errorf("%w: the slots %d to %d are missing, before %s: %s", archive.ErrNotThere, p.Missing.First,
			p.Missing.Last, p.At, last)
	case p.At.Revision > 0 || p.At.Slot > r.at.Slot:
		return fmt.Errorf("%w: %s is after its end: %s", archive.ErrNotThere, p.At, last)
	}
	return nil
}

// segment reads a segment and applies the slots that the state lacks.
func (r *replay) segment(b *rebuild, s archive.Segment) error {
	c, err := r.read(s)
	if err != nil {
		return fmt.Errorf("the segment %s: %w; the last revision that can be restored without it is %d (--at %d)",
			s.Name(r.cluster), err, r.at.Revision, r.at.Revision)
	}
	last, here := r.plan.Stop(&c)
	r.ended = here
	moments := c.Moments
	for slot := r.at.Slot + 1; slot <= last; slot++ {
		whole, err := b.applyUpTo(r.limit(), slot, c.Values[slot-c.First])
		if err != nil {
			return fmt.Errorf("the segment %s: slot %d: %w", s.Name(r.cluster), slot, err)
		}
		r.at.Revision, r.at.Slot = b.state.Revision(), slot
		if !whole {
			r.ended = true
			return r.exact(slot)
		}
		for len(moments) > 0 && moments[0].Slot <= slot {
			if m := moments[0]; m.Slot == slot && m.Revision > 0 && m.Revision != r.at.Revision {
				return fmt.Errorf("the segment %s: slot %d leads to revision %d, but the segment says %d: it is "+
					"of another log than the full copy", s.Name(r.cluster), slot, r.at.Revision, m.Revision)
			}
			r.at.Reached = moments[0].Time()
			moments = moments[1:]
		}
	}
	r.after, r.known = c.After, true
	return nil
}

// exact returns an error unless the state is at the revision that was asked for, now that the next command, in slot,
// would lead beyond it. Only an install takes a state further than to the next revision.
func (r *replay) exact(slot uint64) error {
	if want := r.plan.At.Revision; r.at.Revision != want {
		return fmt.Errorf("%w: the store was never at revision %d: in slot %d an upload (PUT /v1/snapshot) took it "+
			"from revision %d beyond that (--at %d restores what there was before the upload)", archive.ErrNotThere, want,
			slot, r.at.Revision, r.at.Revision)
	}
	return nil
}

// read reads a segment and checks that it continues the one before.
func (r *replay) read(s archive.Segment) (archive.Content, error) {
	b, err := r.from.Segment(r.ctx, r.cluster, s)
	if err != nil {
		return archive.Content{}, err
	}
	c, err := archive.ReadSegment(r.cluster, s, b)
	if err == nil && r.known {
		err = c.Follows(r.at.Slot, r.after)
	}
	return c, err
}

// limit returns the last revision that the state may reach.
func (r *replay) limit() uint64 {
	if r.plan.At.Revision > 0 {
		return r.plan.At.Revision
	}
	return math.MaxUint64
}
