package archive

import (
	"slices"
	"sort"
	"time"
)

// Moment records the newest applied slot at some time, and the revision of the state then.
type Moment struct {
	Slot     uint64
	Revision uint64 // 0: not known
	TimeMS   int64  // milliseconds since 1970
}

// Time returns the time of m.
func (m Moment) Time() time.Time { return time.UnixMilli(m.TimeMS).UTC() }

// maxMoments bounds Moments. At ten moments a second it is one hour.
const maxMoments = 36_000

// Moments remembers when slots were applied. Its times never decrease, whatever the clock does. It is bounded: when it
// is full, every second moment of the older half is dropped. The zero Moments is empty. It is not safe for concurrent
// use.
type Moments struct{ all []Moment }

// Add records that slot and revision were the newest at a time. It ignores a slot that is not above all recorded ones.
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

// NotBefore raises the times of all moments to at least at, the time of the last archived slot, which another node may
// have recorded by another clock.
func (m *Moments) NotBefore(at time.Time) {
	for i := range m.all {
		m.all[i].TimeMS = max(m.all[i].TimeMS, at.UnixMilli())
	}
}

// at returns the index of the first moment at or after slot.
func (m *Moments) at(slot uint64) int {
	return sort.Search(len(m.all), func(i int) bool { return m.all[i].Slot >= slot })
}

// Between returns at most limit+1 evenly chosen moments of the slots from first to last. The final moment is of slot
// last, and has the first recorded time after slot last was applied. Without such a time ok is false.
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

// Lag returns for how long the oldest slot above archived has been applied at now, or 0 if no such slot has.
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

// Forget drops the moments at or below slot, which is archived.
func (m *Moments) Forget(slot uint64) { m.all = slices.Delete(m.all, 0, m.at(slot+1)) }
