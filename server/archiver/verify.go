package archiver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tenure/server/archive"
	"tenure/server/backup"
	"tenure/server/recovery"
	"tenure/storage"
)

const (
	verifyDir = "archive-verify"
	// checkpointFor bounds the wait for the checkpoint to compare with.
	checkpointFor = time.Minute
	// archivedFor bounds the wait until that checkpoint's slot is archived.
	archivedFor = time.Minute
	// verifyReserve is the space that must stay free on the disk beside the restored state, in bytes.
	verifyReserve = 512 << 20
)

// verify restores the newest full copy and the segments after it into a temporary directory, up to the slot of this
// node's newest checkpoint, and compares the digests of the two state databases. The node's own state comes from
// applying the log directly, so one side of the comparison has passed through the target and the other has not.
func (a *Archiver) verify(ctx context.Context, c *copyState) error {
	want, err := a.checkpoint()
	if err != nil {
		return err
	}
	if err := a.waitFor(ctx, uint64(want.Slot)); err != nil {
		return err
	}
	if free := a.cfg.Disk.Usage().FreeBytes; free < 2*want.Bytes+verifyReserve {
		return fmt.Errorf("%d bytes are free in %s, and to restore %d bytes there takes twice as much and %d besides",
			free, a.cfg.Data, want.Bytes, int64(verifyReserve))
	}
	plan, err := a.plan(ctx, c, uint64(want.Slot))
	if err != nil {
		c.broken = errors.Is(err, archive.ErrNotThere)
		return err
	}
	dir := filepath.Join(a.cfg.Data, verifyDir)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	records, digest, err := recovery.ReplayArchive(ctx, a.objects, a.cfg.Cluster, plan, dir)
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		c.broken = errors.Is(err, archive.ErrNotThere) || errors.Is(err, archive.ErrDamaged) ||
			errors.Is(err, backup.ErrDamaged)
		return err
	}
	c.broken = false
	if records != want.Records || digest != want.Digest {
		return fmt.Errorf("what was restored of the archive at slot %d has %d records with digest %016x, and the "+
			"state of this node there had %d with %016x", want.Slot, records, digest, want.Records, want.Digest)
	}
	v := archive.Verified{Full: plan.Full, Through: uint64(want.Slot), When: a.now()}
	if err := a.remote.put(ctx, v.Name(a.cfg.Cluster), nil); err != nil {
		return err
	}
	a.cfg.Logger.Info().Uint64("slot", v.Full.Slot).Uint64("through", v.Through).Int("segments", len(plan.Segments)).
		Msg("the archive was verified")
	return a.relist(ctx, c)
}

// checkpoint makes a checkpoint of everything that is applied now, and describes it.
func (a *Archiver) checkpoint() (storage.SnapshotInfo, error) {
	if err := a.cfg.Log.Checkpoint(checkpointFor); err != nil {
		return storage.SnapshotInfo{}, fmt.Errorf("a checkpoint: %w", err)
	}
	s, err := a.cfg.Store.Snapshot()
	if err != nil {
		return storage.SnapshotInfo{}, err
	}
	defer s.Close()
	return storage.ParseSnapshot(s.Header())
}

// waitFor waits until slot is archived, for at most archivedFor.
func (a *Archiver) waitFor(ctx context.Context, slot uint64) error {
	end := time.NewTimer(archivedFor)
	defer end.Stop()
	look := time.NewTicker(observeEvery)
	defer look.Stop()
	for {
		a.mu.Lock()
		archived, active := a.told.Slot, a.active
		a.mu.Unlock()
		switch {
		case archived >= slot:
			return nil
		case !active:
			return errors.New("this node no longer archives")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end.C:
			return fmt.Errorf("slot %d is not archived yet, after %v", slot, archivedFor)
		case <-look.C:
		}
	}
}

// plan returns the plan that restores slot from the newest full copy.
func (a *Archiver) plan(ctx context.Context, c *copyState, slot uint64) (archive.Plan, error) {
	if err := a.relist(ctx, c); err != nil {
		return archive.Plan{}, err
	}
	at := archive.At{Slot: slot}
	p, err := archive.PlanRestore(&c.list, at)
	if err != nil {
		return p, err
	}
	logs, err := a.remote.segmentsSince(ctx, p.Full.Made.Add(-hourMargin))
	if err != nil {
		return p, err
	}
	l := c.list
	l.Segments = archive.List(a.cfg.Cluster, logs).Segments
	return archive.PlanRestore(&l, at)
}
