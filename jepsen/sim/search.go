package sim

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Search plays many seeds.
type Search struct {
	Start    uint64 // the first seed
	Seeds    int
	Parallel int  // runs at a time; 0: one
	Steps    int  // of each; 0: DefaultSteps
	Members  bool // of the clusters change
	// Done is called after each run, one call at a time, in no particular order; nil: nobody wants to know.
	Done func(Result)
}

// Report is what a search came to.
type Report struct {
	Members bool // of the clusters changed
	Seeds   int
	Steps   int
	Counts  Counts // of all runs together
	Elapsed time.Duration
	Failed  *Result // the failing run with the lowest seed of those that were played; nil: none failed
}

// Run plays the seeds until all are done, one fails, or ctx ends.
func (s Search) Run(ctx context.Context) Report {
	report := Report{Members: s.Members}
	var next atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed atomic.Bool
	began := time.Now()
	for range max(1, s.Parallel) {
		wg.Go(func() {
			for ctx.Err() == nil && !failed.Load() {
				i := next.Add(1) - 1
				if i >= int64(s.Seeds) {
					return
				}
				r := Run(Config{Seed: s.Start + uint64(i), Steps: s.Steps, Members: s.Members})
				mu.Lock()
				report.add(&r)
				if r.Failure != nil {
					failed.Store(true)
				}
				if s.Done != nil {
					s.Done(r)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	report.Elapsed = time.Since(began)
	return report
}

func (r *Report) add(one *Result) {
	r.Seeds++
	r.Steps += one.Steps
	r.Counts.add(&one.Counts)
	if one.Failure != nil && (r.Failed == nil || one.Config.Seed < r.Failed.Config.Seed) {
		r.Failed = one
	}
}

func (c *Counts) add(o *Counts) {
	c.Done += o.Done
	c.Unknown += o.Unknown
	c.Refused += o.Refused
	c.Slots += o.Slots
	c.Masters += o.Masters
	c.Starts += o.Starts
	c.Checkpoints += o.Checkpoints
	c.Moves += o.Moves
	c.Cut += o.Cut
	c.Replayed += o.Replayed
	c.LetGo += o.LetGo
	c.Hung += o.Hung
	c.Waited = max(c.Waited, o.Waited)
	c.Digests += o.Digests
	c.Sequences += o.Sequences
	c.Ends += o.Ends
	c.Locks += o.Locks
	c.Leases += o.Leases
	c.Renewals += o.Renewals
	c.Successions += o.Successions
	c.Buckets += o.Buckets
	c.Memberships += o.Memberships
	c.Changes += o.Changes
	c.ClocksFound += o.ClocksFound
	c.Uploads += o.Uploads
	c.UploadsLost += o.UploadsLost
	c.Spares += o.Spares
	c.Installs += o.Installs
	c.InstallsCut += o.InstallsCut
	for i := range c.Faults {
		c.Faults[i] += o.Faults[i]
	}
}

// Least that a seed must have done on average for a search to count. They are far below what is usual.
const (
	minDonePerSeed      = 50
	minSlotsPerSeed     = 30
	minMastersPerSeed   = 2
	minDigestsPerSeed   = 5
	minSequencesPerSeed = 20
	minEndsPerSeed      = 3
	minLocksPerSeed     = 1
	minLeasesPerSeed    = 5
	minOwnersPerSeed    = 1
	minMovesPerSeed     = 10
	minReplayedPerSeed  = 2
	minSeeds            = 100
)

// Worked returns an error if the search has tested nothing: too few operations that succeeded, or a class of faults
// that never took effect.
func (r *Report) Worked() error {
	if r.Seeds < minSeeds {
		return nil
	}
	for _, f := range []struct {
		what      string
		got, want int
	}{
		{"operations succeeded", r.Counts.Done, minDonePerSeed},
		{"slots were chosen", r.Counts.Slots, minSlotsPerSeed},
		{"masters served", r.Counts.Masters, minMastersPerSeed},
		{"states were compared", r.Counts.Digests, minDigestsPerSeed},
		{"sequences were applied", r.Counts.Sequences, minSequencesPerSeed},
		{"sessions, keys and lock-delays ended when their time was over", r.Counts.Ends, minEndsPerSeed},
		{"locks were acquired", r.Counts.Locks, minLocksPerSeed},
		{"leases were granted", r.Counts.Leases, minLeasesPerSeed},
		{"changes of their owners", r.Counts.Successions, minOwnersPerSeed},
		{"journals were moved", r.Counts.Moves, minMovesPerSeed},
		{"records of journals were replayed", r.Counts.Replayed, minReplayedPerSeed},
	} {
		if f.got < f.want*r.Seeds {
			return fmt.Errorf("sim: in %d runs %d %s: too few to have tested anything", r.Seeds, f.got, f.what)
		}
	}
	if c := &r.Counts; r.Members && (c.Memberships < r.Seeds || c.Changes < r.Seeds || c.Installs < r.Seeds/5 ||
		c.InstallsCut == 0 || c.Spares < r.Seeds/10) {
		return fmt.Errorf("sim: in %d runs %d memberships, %d operations, %d places taken by spares, %d snapshots "+
			"installed, %d cut off: too few to have tested anything", r.Seeds, c.Memberships, c.Changes, c.Spares, c.Installs,
			c.InstallsCut)
	}
	if r.Counts.Uploads < r.Seeds/20 {
		return fmt.Errorf("sim: in %d runs %d uploads took the place of the state: too few to have tested anything", r.Seeds,
			r.Counts.Uploads)
	}
	if r.Counts.Hung < r.Seeds/1000 {
		return fmt.Errorf("sim: in %d runs %d masters let go because their log hung: too few to have tested anything",
			r.Seeds, r.Counts.Hung)
	}
	for i, n := range r.Counts.Faults {
		if n == 0 && !(r.Members && Copied&(1<<i) != 0) { // that is for members that do not change
			return fmt.Errorf("sim: in %d runs no fault of class %s took effect", r.Seeds, faultNames[i])
		}
	}
	return nil
}

// String returns the report in a few lines.
func (r *Report) String() string {
	c := &r.Counts
	seconds := max(r.Elapsed.Seconds(), 0.001)
	s := fmt.Sprintf("%d seeds, %d steps in %.1f s: %.0f seeds/minute, %.0f steps/seed, %.0f steps/s\n", r.Seeds,
		r.Steps, seconds,
		float64(r.Seeds)/seconds*60, float64(r.Steps)/float64(max(1, r.Seeds)), float64(r.Steps)/seconds)
	s += fmt.Sprintf("%d operations done, %d unknown, %d refused; "+
		"%d slots, %d masters, %d starts, %d checkpoints, %d states compared\n",
		c.Done, c.Unknown, c.Refused, c.Slots, c.Masters, c.Starts, c.Checkpoints, c.Digests)
	s += fmt.Sprintf("%d sequences applied, %d locks acquired, %d sessions, keys and lock-delays ended when their time was "+
		"over\n", c.Sequences, c.Locks, c.Ends)
	s += fmt.Sprintf("%d grants of named leases, %d of them renewals, %d changes of owner, %d buckets\n", c.Leases,
		c.Renewals, c.Successions, c.Buckets)
	if c.Memberships > 0 {
		s += fmt.Sprintf("%d memberships, %d operations ended, %d places taken by spares, %d snapshots installed, "+
			"%d installations cut off\n", c.Memberships, c.Changes, c.Spares, c.Installs, c.InstallsCut)
	}
	s += fmt.Sprintf("%d uploads took the place of the state, %d were given up; %d clocks that erred were found\n", c.Uploads,
		c.UploadsLost, c.ClocksFound)
	s += fmt.Sprintf("%d times a master let go, %d times because its log hung; "+
		"a majority that was well waited %v at most\n", c.LetGo, c.Hung, c.Waited)
	s += fmt.Sprintf("journals: %d moves to log.db, %d commits cut off, %d records replayed\nfaults:", c.Moves, c.Cut,
		c.Replayed)
	for i, n := range c.Faults {
		s += fmt.Sprintf(" %s %d", faultNames[i], n)
	}
	return s
}
