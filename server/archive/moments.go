package archive

import (
	"slices"
	"sort"
	"time"
)

// Moment says that a slot was the newest applied one at a time, and which revision the state had then.
type Moment struct {
	Slot     uint64
	Revision uint64 // 0: not known
	TimeMS   int64  // since 1970
}

// Time returns when that was.
func (m Moment) Time() time.Time { return time.UnixMilli(m.TimeMS).UTC() }

// maxMoments bounds Moments. At ten a second they are the last hour; of what is older every second one is dropped.
const maxMoments = 36_000

// Moments remembers when which slot was applied. Times never fall, whatever the clock does. It is bounded: of the older
// half of what it remembers, every second moment is dropped when it is full.
type Moments struct{ all []Moment }

// Add notes that slot, and revision, were the newest at a time. A slot that is known is left as it is.
func (m *Moments) Add(slot, revision uint64, at time.Time) {
	now := Moment{Slot: slot, Revision: revision, TimeMS: at.UnixMilli()}
	if n := len(m.all); n > 0 {
		last := m.all[n-1]
		if slot <= last.Slot {
			return
		}
		now.TimeMS = max(now.TimeMS, last.TimeMS)
	}
	if len(m.all) == maxMoments {
		m.thin()
	}
	m.all = append(m.all, now)
}

// thin drops every second moment of the older half.
func (m *Moments) thin() {
	kept := m.all[:0]
	for i, moment := range m.all {
		if i >= maxMoments/2 || i%2 == 1 {
			kept = append(kept, moment)
		}
	}
	m.all = kept
}

// NotBefore has no moment be before at: that is how far an archive has come whose earlier part was written elsewhere.
func (m *Moments) NotBefore(at time.Time) {
	for i := range m.all {
		m.all[i].TimeMS = max(m.all[i].TimeMS, at.UnixMilli())
	}
}

// At returns the index of the first moment at or after slot.
func (m *Moments) at(slot uint64) int {
	return sort.Search(len(m.all), func(i int) bool { return m.all[i].Slot >= slot })
}

// Between returns the moments of the slots from first to last, at most limit of them, evenly chosen. The last one is of
// slot last: if it is not known when that was applied, it is the first time at which it is known to have been. ok is
// false if that is not known either.
func (m *Moments) Between(first, last uint64, limit int) (out []Moment, ok bool) {
	from, through := m.at(first), m.at(last)
	if through == len(m.all) {
		return nil, false
	}
	end := m.all[through]
	if end.Slot != last {
		end = Moment{Slot: last, TimeMS: end.TimeMS}
	}
	step := (through-from)/limit + 1
	for i := from; i < through; i += step {
		out = append(out, m.all[i])
	}
	return append(out, end), true
}

// Lag returns how long a slot above archived has been applied at now. It is 0 if none has.
func (m *Moments) Lag(archived uint64, now time.Time) time.Duration {
	i := m.at(archived + 1)
	if i == len(m.all) {
		return 0
	}
	return max(0, now.Sub(m.all[i].Time()))
}

// Newest returns the newest moment, and false if there is none.
func (m *Moments) Newest() (Moment, bool) {
	if len(m.all) == 0 {
		return Moment{}, false
	}
	return m.all[len(m.all)-1], true
}

// Forget drops what is at or below slot, which is archived.
func (m *Moments) Forget(slot uint64) { m.all = slices.Delete(m.all, 0, m.at(slot+1)) }
