package archiver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenure/api"
	"tenure/server/archive"
	"tenure/server/wire"
)

const (
	shipEvery  = 50 * time.Millisecond
	retryAfter = time.Second
	// probeEvery is the time between two probes of a target to which nothing is written.
	probeEvery = 15 * time.Second
)

// ship writes segments while this node is the master, until stop is closed. It returns an error only if the node's own
// log cannot be read.
func (a *Archiver) ship(stop <-chan struct{}) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go func() {
		<-stop
		cancel(errStopping)
	}()
	ticker := time.NewTicker(shipEvery)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return nil
		case <-ticker.C:
		}
		now := a.cfg.Clock.Now()
		if !a.cfg.Mastership.Serves(now) {
			a.deactivate()
			continue
		}
		if now < a.retryAt {
			continue
		}
		if err := a.shipOnce(ctx); errors.Is(err, errOwnLog) {
			return err
		} else if err != nil && ctx.Err() == nil {
			a.retryAt = a.cfg.Clock.Now() + retryAfter
			a.problems.failed(segments, err)
		}
	}
}

// deactivate ends archiving on this node, which is no longer the master.
func (a *Archiver) deactivate() {
	a.tail, a.retryAt = nil, 0
	a.mu.Lock()
	was := a.active
	a.active = false
	a.problems.clear() // under the lock: Status never has a problem of a node that has stopped archiving
	a.mu.Unlock()
	if was {
		a.cfg.Logger.Info().Msg("this node no longer archives")
	}
}

func (a *Archiver) isActive() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.active
}

// shipOnce finds the end of the archive if it is unknown, writes the segments that are due, and probes an idle target.
// After an error the end is unknown: the object may be stored or not, and another target may answer next.
func (a *Archiver) shipOnce(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			a.tail = nil
		}
	}()
	if a.tail == nil {
		if err := a.find(ctx); err != nil {
			return err
		}
	}
	wrote, err := a.step(ctx)
	if err != nil {
		return err
	}
	now := a.cfg.Clock.Now()
	if !wrote && now-a.lastContact >= probeEvery {
		if err := a.remote.probe(ctx); err != nil {
			return err
		}
		wrote = true
	}
	if wrote {
		a.lastContact = a.cfg.Clock.Now()
		a.problems.succeeded(segments)
	}
	return nil
}

// find finds the end of the archive and continues it: after the last segment, or after the newest full copy if there is
// no segment. If the archive is empty, or the node's log no longer has those slots, it begins a new chain after the
// newest applied slot.
func (a *Archiver) find(ctx context.Context) error {
	there, err := a.remote.marked(ctx)
	if err != nil {
		return err
	}
	a.mu.Lock()
	hint, known := a.told, a.known
	a.mu.Unlock()
	if !there && known {
		return errLost
	}
	l, err := a.remote.list(ctx, hint, known, there)
	if err != nil {
		return err
	}
	end, found := l.End()
	if found && known && end.Last < hint.Stored {
		return fmt.Errorf("%w: slot %d had been archived, and it ends at slot %d", errLost, hint.Stored, end.Last)
	}
	at := archive.Resume(&l, a.cfg.Log.View().Truncated, a.cfg.Log.View().Applied)
	if !there {
		if err := a.remote.put(ctx, archive.Marker(a.cfg.Cluster), []byte(markerText)); err != nil {
			return err
		}
	}
	full, verified := copiesOf(&l)
	a.begin(at, wire.Archived{Stored: end.Last, Full: full, Verified: verified})
	return nil
}

const markerText = "An archive of a Tenure cluster. See docs/backup.md.\n"

// begin continues the archive at at, and makes this node the one that archives. There is what there says of segments
// and full copies.
func (a *Archiver) begin(at archive.Resumed, there wire.Archived) {
	a.mu.Lock()
	gap := at.Gap != archive.Gap{}
	if gap {
		a.metrics.gaps.Inc()
		a.lost = api.ArchiveGap{First: at.Gap.First, Last: at.Gap.Last, FoundMS: a.now().UnixMilli()}
	}
	a.moments.NotBefore(at.Reached)
	if at.New || !a.active || a.told.Slot != at.First-1 {
		a.begun++
	}
	a.told = there
	a.told.Slot, a.told.ReachedMS = at.First-1, max(0, at.Reached.UnixMilli())
	a.teller, a.known, a.active = a.cfg.Self, true, true
	a.mu.Unlock()
	a.tail = &tail{builder: archive.NewBuilder(a.cfg.Cluster, at.First, at.Before)}
	a.lastContact = a.cfg.Clock.Now()
	if gap {
		a.cfg.Logger.Error().Uint64("first", at.Gap.First).Uint64("last", at.Gap.Last).
			Msg("the archive has a gap: these slots were truncated before they could be archived")
	}
	a.cfg.Logger.Info().Uint64("first", at.First).Bool("gap", gap).Bool("new", at.New).
		Str("target", a.cfg.Target.String()).Msg("this node archives")
}

// copiesOf returns the newest full copy of l and the newest verified one.
func copiesOf(l *archive.Listing) (full, verified wire.Copy) {
	if n := len(l.Fulls); n > 0 {
		f := l.Fulls[n-1]
		full = wire.Copy{Slot: f.Slot, Revision: f.Revision, MadeMS: f.Made.UnixMilli()}
	}
	if v, ok := l.NewestVerified(); ok {
		verified = wire.Copy{Slot: v.Full.Slot, Revision: v.Full.Revision, MadeMS: v.Full.Made.UnixMilli(),
			WhenMS: v.When.UnixMilli()}
	}
	return full, verified
}
