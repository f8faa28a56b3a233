package archiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tenure/api"
	"tenure/server/archive"
	"tenure/server/backup/target"
	"tenure/server/wire"
)

const (
	shipEvery  = 50 * time.Millisecond
	putFor     = 30 * time.Second // bounds a request for a small object
	listFor    = 2 * time.Minute
	retryAfter = time.Second
	// probeEvery is the time between two probes of a target to which nothing is written.
	probeEvery = 15 * time.Second
	// hoursBack is how many hours of segments are listed to find the end. Only if they have none are all segments
	// listed.
	hoursBack = 48
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
			a.failed(segments, err)
		}
	}
}

// deactivate ends archiving on this node, which is no longer the master.
func (a *Archiver) deactivate() {
	a.tail, a.retryAt = nil, 0
	a.mu.Lock()
	was := a.active
	a.active = false
	clear(a.problems)
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
		if err := a.probe(ctx); err != nil {
			return err
		}
		wrote = true
	}
	if wrote {
		a.lastContact = a.cfg.Clock.Now()
		a.succeeded(segments)
	}
	return nil
}

// errLost means that the target answers but lacks what was archived there.
var errLost = errors.New("the target has no archive of this cluster any more: if a disk is not mounted, mount it; to " +
	"begin an archive anew, restart all nodes that archive")

// probe asks the target whether the archive is still there.
func (a *Archiver) probe(ctx context.Context) error {
	there, err := a.marked(ctx)
	if err == nil && !there {
		err = errLost
	}
	return err
}

// marked reports whether the target has the marker of an archive of this cluster.
func (a *Archiver) marked(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, putFor)
	defer cancel()
	name := archive.Marker(a.cfg.Cluster)
	all, err := a.cfg.Target.List(ctx, name) // Get may need an identity that this node lacks
	return slices.ContainsFunc(all, func(o target.Object) bool { return o.Name == name }), err
}

// find finds the end of the archive and continues it: after the last segment, or after the newest full copy if there is
// no segment. If the archive is empty, or the node's log no longer has those slots, it begins a new chain after the
// newest applied slot.
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
	if found && known && end.Last < hint.Stored {
		return fmt.Errorf("%w: slot %d had been archived, and it ends at slot %d", errLost, hint.Stored, end.Last)
	}
	at := archive.Resume(&l, a.cfg.Log.View().Truncated, a.cfg.Log.View().Applied)
	if !there {
		if err := a.put(ctx, archive.Marker(a.cfg.Cluster), []byte(markerText)); err != nil {
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

// list lists the full copies, the verifications, and enough segments to find the end of the archive. It starts at the
// hour of hint, if known.
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
	logs, err := a.segmentsSince(ctx, from)
	if err != nil {
		return archive.Listing{}, err
	}
	if len(logs) == 0 {
		if logs, err = a.names(ctx, archive.LogPrefix(c)); err != nil {
			return archive.Listing{}, err
		}
	}
	return archive.List(c, append(names, logs...)), nil
}

// segmentsSince returns the names of the segments of the hours from the hour of from on.
func (a *Archiver) segmentsSince(ctx context.Context, from time.Time) (all []string, err error) {
	for _, prefix := range a.prefixes(from, a.now().Add(time.Hour)) {
		some, err := a.names(ctx, prefix)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// maxHours bounds how many hours of segments are listed one by one.
const maxHours = 24 * 100

// prefixes returns the prefixes of the segments of the hours from from to through. It returns the prefix of all
// segments if the range has too many hours, for example after a clock at 1970, or is empty, after a clock that was
// ahead.
func (a *Archiver) prefixes(from, through time.Time) (all []string) {
	if hours := through.Sub(from).Hours(); hours < 0 || hours > maxHours {
		return []string{archive.LogPrefix(a.cfg.Cluster)}
	}
	for _, hour := range archive.Hours(from, through) {
		all = append(all, archive.HourPrefix(a.cfg.Cluster, hour))
	}
	return all
}

// names returns the names of the objects that begin with any of the prefixes.
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
