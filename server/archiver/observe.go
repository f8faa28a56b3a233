package archiver

import (
	"time"

	"tenure/server/replica"
	"tenure/server/wire"
)

const (
	// observeEvery is the time between two moments. It is the precision with which a time can be restored.
	observeEvery = 100 * time.Millisecond
	// tellEvery is the time between two progress messages to the other nodes.
	tellEvery = time.Second
)

// observe records when slots were applied and pins the log after the end of the archive, until stop is closed. All
// nodes run it: each may be the next to continue the archive.
func (a *Archiver) observe(stop <-chan struct{}) error {
	ticker := time.NewTicker(observeEvery)
	defer ticker.Stop()
	for n := 0; ; n++ {
		slot, revision := a.cfg.State.Point()
		a.mu.Lock()
		a.moments.Add(slot, revision, a.now())
		if a.known {
			a.moments.Forget(a.told.Slot)
		}
		a.mu.Unlock()
		if n%int(tellEvery/observeEvery) == 0 {
			a.pin()
			a.tell()
		}
		select {
		case <-stop:
			return nil
		case <-ticker.C:
		}
	}
}

// tell sends the progress of the archive to the other nodes if this node archives.
func (a *Archiver) tell() {
	a.mu.Lock()
	told, active := a.told, a.active
	a.mu.Unlock()
	if !active {
		return
	}
	body := wire.EncodeArchived(&told)
	for _, p := range a.cfg.Members.Others() {
		a.cfg.Send.SendLog(p, body)
	}
}

// pin keeps the slots that are not archived yet in the log, unless log.db is too large or space is short. While the end
// of the archive is unknown it keeps the whole log.
func (a *Archiver) pin() {
	a.mu.Lock()
	slot := a.told.Slot
	if !a.known {
		slot = 0
	}
	a.mu.Unlock()
	slot = max(slot, a.cfg.Log.View().Truncated, 1)
	space := a.cfg.Disk.Space()
	short := space == replica.SpaceTight || space == replica.SpaceNone
	if outgrew := short || a.cfg.Store.Usage().LogBytes > a.cfg.KeepLogBytes; outgrew {
		if !a.unpinned {
			a.cfg.Logger.Warn().Bool("space_short", short).Uint64("archived", slot).
				Msg("the log behind the archive is too large and is not kept any more: the archive may get a gap")
		}
		a.unpinned, slot = true, 0
	} else {
		a.unpinned = false
	}
	if slot != a.pinned {
		a.pinned = slot
		a.cfg.Log.Do(func(part *replica.Log) { part.Pin(replica.PinArchive, slot) })
	}
}
