package client

import "time"

const (
	firstWatchWait = 10 * time.Second // after which Config.WatchWaits is called first
	nextWatchWait  = time.Minute
)

// watchWaits is for how long a watch has had no stream.
type watchWaits struct {
	since time.Time // zero: there is one
	told  time.Time // zero: it was not told of
}

// failed tells of the wait if it is time to.
func (w *watchWaits) failed(tell func(time.Duration, error), err error) {
	now := time.Now()
	if w.since.IsZero() {
		w.since = now
	}
	if tell == nil || now.Sub(w.since) < firstWatchWait || !w.told.IsZero() && now.Sub(w.told) < nextWatchWait {
		return
	}
	w.told = now
	tell(now.Sub(w.since), err)
}

// goesOn ends the wait, and says so if it was told of.
func (w *watchWaits) goesOn(tell func(time.Duration, error)) {
	if !w.told.IsZero() {
		tell(time.Since(w.since), nil)
	}
	*w = watchWaits{}
}
