package certs

import (
	"context"
	"sync/atomic"
	"time"
)

// WatchEvery is the pace at which files are looked at for changes.
const WatchEvery = 5 * time.Second

// WarnBefore is how long before its end a certificate is complained about, and WarnEvery how often.
const (
	WarnBefore = 30 * 24 * time.Hour
	WarnEvery  = 24 * time.Hour
)

// Source is what is read from files again when they change: Files or Revocations.
type Source interface {
	// Reload reads the files again. It reports whether anything has changed. After an error everything is as before.
	Reload() (changed bool, err error)
	// Names returns the names of the files.
	Names() []string
	// Expiries returns when what is in them expires.
	Expiries() []Expiry
}

// Report is told what a Watcher sees. Its methods are called by one goroutine.
type Report struct {
	// Changed: what is in the files is in use from now on.
	Changed func(Source)
	// Broken: the new contents of the files are invalid, and the old ones stay in use. It is called once for each
	// different reason.
	Broken func(Source, error)
	// Expires: something expires within its WarnBefore, or has expired.
	Expires func(Source, Expiry)
}

// Watcher reads files again when they change.
type Watcher struct {
	Files  []Source // revocation lists behind the authorities that have signed them
	Report Report
	Now    func() time.Time // nil: time.Now

	reloads, failures atomic.Uint64
	said              map[Source]*said
}

// said is what a Watcher has said of some files.
type said struct {
	failed string    // why the last reading failed, "" if it did not
	told   string    // the failure that Broken was told
	warned time.Time // when Expires was last told
}

// Reloads returns how often changed files have come into use.
func (w *Watcher) Reloads() uint64 { return w.reloads.Load() }

// Failures returns how often changed files were of no use.
func (w *Watcher) Failures() uint64 { return w.failures.Load() }

// Run looks at the files at each WatchEvery, until ctx ends. When now receives a function it looks at once, and then
// calls it.
func (w *Watcher) Run(ctx context.Context, now <-chan func()) {
	tick := time.NewTicker(WatchEvery)
	defer tick.Stop()
	for {
		var read func()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case read = <-now:
		}
		if w.look(read != nil); read != nil {
			read()
		}
	}
}

// Look looks at the files once, as Run does for a caller who has asked for it.
func (w *Watcher) Look() { w.look(true) }

// look reads the files. A certificate and its key cannot be replaced in one step, so unless somebody has asked for it,
// a failure must show twice before it is called one.
func (w *Watcher) look(asked bool) {
	if w.said == nil {
		w.said = map[Source]*said{}
	}
	for _, f := range w.Files {
		s := w.said[f]
		if s == nil {
			s = &said{}
			w.said[f] = s
		}
		changed, err := f.Reload()
		switch {
		case err != nil:
			w.broken(f, s, err, asked)
		case changed:
			w.reloads.Add(1)
			*s = said{}
			w.Report.Changed(f)
		default:
			s.failed, s.told = "", ""
		}
		w.warn(f, s)
	}
}

func (w *Watcher) broken(f Source, s *said, err error, asked bool) {
	text := err.Error()
	again := s.failed == text
	s.failed = text
	if s.told == text && !asked || !again && !asked {
		return
	}
	s.told = text
	w.failures.Add(1)
	w.Report.Broken(f, err)
}

// warn tells what expires soon, once in WarnEvery.
func (w *Watcher) warn(f Source, s *said) {
	now := time.Now
	if w.Now != nil {
		now = w.Now
	}
	at := now()
	if !s.warned.IsZero() && at.Sub(s.warned) < WarnEvery {
		return
	}
	for _, e := range f.Expiries() {
		if e.At.Sub(at) < e.WarnBefore {
			s.warned = at
			w.Report.Expires(f, e)
		}
	}
}
