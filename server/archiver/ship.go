package archiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"time"

	"tenure/server/archive"
	"tenure/server/backup/target"
	"tenure/server/wire"
)

const (
	shipEvery  = 50 * time.Millisecond
	putFor     = 30 * time.Second // for the target to take or give a small object
	listFor    = 2 * time.Minute
	retryAfter = time.Second
	// probeEvery is how often a target is asked to which nothing is written.
	probeEvery = 15 * time.Second
	// hoursBack is how far back segments are looked for before all of them are listed.
	hoursBack = 48
)

// ship writes segments while this node is the master, until stop is closed. An error is damage of the node's own log.
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
			a.rest()
			continue
		}
		if now < a.waits {
			continue
		}
		if err := a.turn(ctx); errors.Is(err, errOwnLog) {
			return err
		} else if err != nil && ctx.Err() == nil {
			a.waits = a.cfg.Clock.Now() + retryAfter
			a.failed(segments, err)
		}
	}
}

// rest ends archiving here: another node is the master.
func (a *Archiver) rest() {
	a.line, a.waits = nil, 0
	a.mu.Lock()
	was := a.active
	a.active = false
	clear(a.problems)
	a.mu.Unlock()
	if was {
		a.cfg.Logger.Info().Msg("this node does not archive any more")
	}
}

func (a *Archiver) isActive() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.active
}

// turn finds the end of the archive if need be, and writes what is due.
func (a *Archiver) turn(ctx context.Context) error {
	if a.line == nil {
		if err := a.find(ctx); err != nil {
			return err
		}
	}
	wrote, err := a.step(ctx)
	if err != nil {
		return err
	}
	now := a.cfg.Clock.Now()
	if !wrote && now-a.contact >= probeEvery {
		if err := a.probe(ctx); err != nil {
			return err
		}
		wrote = true
	}
	if wrote {
		a.contact = a.cfg.Clock.Now()
		a.worked(segments)
	}
	return nil
}

// errLost says that the target answers, but has not what was archived there.
var errLost = errors.New("the target has no archive of this cluster any more: if a disk is not mounted, mount it; to begin " +
	"an archive anew, restart all nodes that archive")

// probe asks the target whether the archive is still there.
func (a *Archiver) probe(ctx context.Context) error {
	there, err := a.marked(ctx)
	if err == nil && !there {
		err = errLost
	}
	return err
}

// marked reports whether the target says that it has an archive of this cluster.
func (a *Archiver) marked(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, putFor)
	defer cancel()
	name := archive.Marker(a.cfg.Cluster)
	all, err := a.cfg.Target.List(ctx, name) // to read it may need an identity that is not here
	return slices.ContainsFunc(all, func(o target.Object) bool { return o.Name == name }), err
}

// find looks where the archive ends, and goes on there: behind the last segment, behind the newest full copy if there
// is no segment, or, if the own log does not reach back to that or there is nothing, here and now with a new chain.
func (a *Archiver) find(ctx context.Context) error {
	there, err := a.marked(ctx)
	if err != nil {
		return err
	}
	a.mu.Lock()
	hint, known := a.told, a.known
	a.mu.Unlock()
	if !there && known {
		return errLost
	}
	l, err := a.list(ctx, hint, known, there)
	if err != nil {
		return err
	}
	end, found := l.End()
	if found && known && end.Last < hint.Slot {
		return fmt.Errorf("%w: slot %d had been archived, and it ends at slot %d", errLost, hint.Slot, end.Last)
	}
	at := archive.Resume(&l, a.cfg.Log.View().Truncated, a.cfg.Log.View().Applied)
	if !there {
		if err := a.put(ctx, archive.Marker(a.cfg.Cluster), []byte(markerText)); err != nil {
			return err
		}
	}
	a.begin(at, &l)
	return nil
}

const markerText = "An archive of a Tenure cluster. See docs/backup.md.\n"

// begin goes on with the archive at at.
func (a *Archiver) begin(at archive.Resumed, l *archive.Listing) {
	a.mu.Lock()
	if at.Gap {
		a.metrics.gaps.Inc()
	}
	a.moments.NotBefore(at.Reached)
	a.told = wire.Archived{Slot: at.First - 1, ReachedMS: max(0, at.Reached.UnixMilli())}
	a.told.Full, a.told.Verified = copiesOf(l)
	a.teller, a.known, a.active, a.begins = a.cfg.Self, true, true, at.First
	if !at.New {
		a.begins = 0
	}
	a.mu.Unlock()
	a.line = &line{builder: archive.NewBuilder(a.cfg.Cluster, at.First, at.Before)}
	a.contact = a.cfg.Clock.Now()
	log := a.cfg.Logger.Info()
	if at.Gap {
		log = a.cfg.Logger.Warn()
	}
	log.Uint64("first", at.First).Bool("gap", at.Gap).Bool("new", at.New).Str("target", a.cfg.Target.String()).
		Msg("this node archives")
}

// copiesOf returns the newest full copy and the newest verified one.
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

// list lists the full copies, what says that they were verified, and enough segments to know where the archive ends.
func (a *Archiver) list(ctx context.Context, hint wire.Archived, known, there bool) (archive.Listing, error) {
	c := a.cfg.Cluster
	if !there {
		return archive.List(c, nil), nil
	}
	now := a.now()
	from := now.Add(-hoursBack * time.Hour)
	if reached := time.UnixMilli(hint.ReachedMS); known && reached.After(from) {
		from = reached
	}
	names, err := a.names(ctx, archive.FullPrefix(c), archive.VerifiedPrefix(c))
	if err != nil {
		return archive.Listing{}, err
	}
	var logs []string
	for _, hour := range archive.Hours(from, now.Add(time.Hour)) {
		some, err := a.names(ctx, archive.HourPrefix(c, hour))
		if err != nil {
			return archive.Listing{}, err
		}
		logs = append(logs, some...)
	}
	if len(logs) == 0 {
		if logs, err = a.names(ctx, archive.LogPrefix(c)); err != nil {
			return archive.Listing{}, err
		}
	}
	return archive.List(c, append(names, logs...)), nil
}

// names lists the names of objects that begin with any of the prefixes.
func (a *Archiver) names(ctx context.Context, prefixes ...string) (all []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, listFor)
	defer cancel()
	for _, p := range prefixes {
		objects, err := a.cfg.Target.List(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			all = append(all, o.Name)
		}
	}
	return all, nil
}

// put stores a small object.
func (a *Archiver) put(ctx context.Context, name string, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, putFor)
	defer cancel()
	return a.cfg.Target.Put(ctx, name, bytes.NewReader(b))
}
