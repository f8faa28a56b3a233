package alerts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenure/jepsen/cluster"
)

// fault is what makes alerts fire.
type fault struct {
	says   string
	begin  func(context.Context) error // returns when the fault is complete
	during func(context.Context) error // called again and again until the alerts fire; may be nil
	mend   func(context.Context) error // may be nil
	alerts []string
	last   bool // it cannot be mended: it is the last one of its cluster
}

const (
	firesWithin = 6 * time.Minute // some alerts look back on a window, or wait for days: see shorten
	calmWithin  = 5 * time.Minute
	lookEvery   = 200 * time.Millisecond
)

// try makes a fault, waits for its alerts, mends it, and waits until nothing fires any more.
func (b *bed) try(ctx context.Context, f fault) error {
	if err := f.begin(ctx); err != nil {
		return fmt.Errorf("%s: %w", f.says, err)
	}
	during, enough := context.WithCancel(ctx)
	defer enough()
	done := make(chan error, 1)
	go func() {
		var err error
		for f.during != nil && during.Err() == nil && err == nil {
			err = f.during(during)
		}
		if during.Err() != nil {
			err = nil
		}
		if err != nil {
			enough() // no alert is waited for
		}
		done <- err
	}()
	beside, err := b.fires(during, &f)
	enough()
	err = errors.Join(<-done, err)
	if f.mend != nil {
		err = errors.Join(err, f.mend(ctx))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.says, err)
	}
	var also []string
	if !f.last {
		also, err = b.calm(ctx)
	}
	if err != nil {
		return fmt.Errorf("after %s: %w", f.says, err)
	}
	beside = append(beside, also...)
	slices.Sort(beside)
	beside = slices.DeleteFunc(slices.Compact(beside), func(a string) bool { return slices.Contains(f.alerts, a) })
	if len(beside) > 0 {
		b.say("beside these: %s", strings.Join(beside, ", "))
	}
	return nil
}

// fires waits until all alerts of a fault have fired, and returns all that were seen.
func (b *bed) fires(ctx context.Context, f *fault) (seen []string, err error) {
	began := time.Now()
	missing := slices.Clone(f.alerts)
	for len(missing) > 0 {
		now, err := b.p.firing(ctx)
		if err != nil {
			return seen, err
		}
		seen = append(seen, now...)
		for _, a := range now {
			if i := slices.Index(missing, a); i >= 0 {
				missing = slices.Delete(missing, i, i+1)
				b.fired = append(b.fired, Fired{a, f.says, time.Since(began)})
				b.say("%s: %s, after %.1f s", f.says, a, time.Since(began).Seconds())
			}
		}
		if time.Since(began) > firesWithin || ctx.Err() != nil {
			return seen, errors.Join(ctx.Err(), fmt.Errorf("%s does not fire", strings.Join(missing, ", ")))
		}
		cluster.Pause(ctx, lookEvery)
	}
	return seen, nil
}

// calm waits until nothing fires any more, and returns what did.
func (b *bed) calm(ctx context.Context) (seen []string, err error) {
	for end := time.Now().Add(calmWithin); ; cluster.Pause(ctx, lookEvery) {
		now, err := b.p.firing(ctx)
		if err != nil || len(now) == 0 {
			return seen, err
		}
		seen = append(seen, now...)
		if time.Now().After(end) {
			return seen, fmt.Errorf("there still fires %s", strings.Join(now, ", "))
		}
	}
}

// all tries faults one after the other.
func (b *bed) all(ctx context.Context, faults []fault) error {
	for _, f := range faults {
		if err := b.try(ctx, f); err != nil {
			return err
		}
	}
	return nil
}
