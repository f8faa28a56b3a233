package archiver

import (
	"time"

	"tenure/server/replica"
	"tenure/server/wire"
)

const (
	// observeEvery is the distance between two moments, and so how exactly a time can be restored.
	observeEvery = 100 * time.Millisecond
	// tellEvery is the distance between two messages to the others.
	tellEvery = time.Second
	// pinBytes is how large the log may get for what is not archived yet.
	pinBytes = 1 << 30
)

// observe notes which slot is applied when, until stop is closed, and keeps the log from where the archive ends. All
// nodes do: each may be the next to go on with the archive.
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

// tell tells the others how far the archive is, if this node archives.
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

// pin keeps the log behind the archive, unless it has grown too large by that or space is short. While it is not known
// how far the archive is, everything is kept that is there.
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
	if outgrew := short || a.cfg.Store.Usage().LogBytes > pinBytes; outgrew {
		if !a.outgrew {
			a.cfg.Logger.Warn().Bool("space_short", short).Uint64("archived", slot).
				Msg("the log behind the archive is too large and is not kept any more: the archive may get a gap")
		}
		a.outgrew, slot = true, 0
	} else {
		a.outgrew = false
	}
	if slot != a.pinned {
		a.pinned = slot
		a.cfg.Log.Do(func(part *replica.Log) { part.Pin(replica.PinArchive, slot) })
	}
}
