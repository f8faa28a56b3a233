package replica

import (
	"tenure/kv"
	"tenure/multipaxos"
)

// folding drives the merging of applied changes into the durable image: one fold at a time, and none ahead of what
// the node's own log has synced, so that no promise is ever truncated above what this node can prove.
type folding struct {
	frozen *kv.Frozen // taken out of the state, not yet durable
	handed bool
	done   uint64 // slot of the newest durable fold
	logged int64  // bytes of the values applied since the last Freeze
	image  int64  // bytes of the durable image, as far as told
	unit   int64  // what the disk has space for, in place of Config.FoldBytes; 0: that is not known to be less
	begun  uint64 // tick of the newest Freeze
}

// threshold is how many bytes of changes start a fold. Keys at random places of a large image share pages with few
// others of their fold, and each page costs the same whatever changes in it; so a large image is folded in larger
// pieces: in a quarter of itself, up to largestFold.
func (f *folding) threshold(l *Log) int64 {
	unit := f.bytes(l)
	if unit < l.cfg.FoldBytes {
		return unit
	}
	return min(max(unit, f.image/4), largestFold*unit)
}

// bytes is the size of a fold: Config.FoldBytes, or less where the disk has not the space for one.
func (f *folding) bytes(l *Log) int64 {
	if f.unit == 0 {
		return l.cfg.FoldBytes
	}
	return min(f.unit, l.cfg.FoldBytes)
}

// full tells whether unfolded changes have reached their bound: proposing then waits for the fold.
func (f *folding) full(l *Log) bool {
	return l.state.TableBytes() >= f.threshold(l)+meanwhile*f.bytes(l)
}

// In units of folding.bytes: the largest threshold of a fold, and what may come while one runs.
const (
	largestFold = 4
	meanwhile   = 3
)

// SetFoldBytes tells how large a fold the disk has space for, on top of all else that it writes; 0 is no bound but
// Config's. Where it is less than Config.FoldBytes the log keeps no tail either.
func (l *Log) SetFoldBytes(n int64) {
	l.fold.unit = n
	l.core.SetShort(l.short())
}

// SetImageBytes tells how large the durable image is.
func (l *Log) SetImageBytes(n int64) { l.fold.image = n }

// WantFreeze tells whether it is time to start a fold.
func (l *Log) WantFreeze() bool {
	f := &l.fold
	if f.frozen != nil {
		return false
	}
	if l.room != RoomEnough && f.gains(l) {
		return true
	}
	return l.state.TableBytes() >= f.threshold(l) || f.logged >= min(l.cfg.FoldLogBytes, 4*f.bytes(l))
}

// gains reports whether a fold may give space back although little has changed: something was applied since the last
// one, which was not just now. The fold writes deletions to the image, and the log is cut off behind it.
func (f *folding) gains(l *Log) bool { return f.logged > 0 && l.ticks-f.begun >= shortFoldTicks }

// shortFoldTicks is the least time between two folds that only the want of space has started.
const shortFoldTicks = 50

// Freeze starts a fold. The shell holds the state's lock.
func (l *Log) Freeze() {
	if l.fold.frozen == nil {
		l.fold.frozen, l.fold.handed, l.fold.logged = l.state.Freeze(), false, 0
		l.fold.begun = l.ticks
	}
}

// hand gives the frozen changes out once the own log is synced through them.
func (f *folding) hand(l *Log) {
	if f.frozen == nil || f.handed || uint64(l.core.SyncedThrough()) < f.frozen.Slot() {
		return
	}
	f.handed = true
	l.out.Fold = f.frozen
}

// FoldDone reports that the fold handed out is durable and visible. The shell holds the state's lock. An error is
// damage.
func (l *Log) FoldDone() error {
	if l.fold.frozen == nil || !l.fold.handed {
		panic("replica: a fold was reported done that was not handed out")
	}
	if err := l.state.Folded(); err != nil {
		return err
	}
	l.fold.done = l.fold.frozen.Slot()
	l.fold.frozen, l.fold.handed = nil, false
	l.core.Folded(multipaxos.Slot(l.fold.done))
	return nil
}

// FoldedThrough is the slot of the newest durable fold.
func (l *Log) FoldedThrough() uint64 { return l.fold.done }
