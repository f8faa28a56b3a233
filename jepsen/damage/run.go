package damage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tenure/jepsen/cluster"
)

// Config configures a campaign. Half of the faults of each kind are planted while the node runs.
type Config struct {
	Faults  [kinds]int // number of faults of each kind
	Workers int        // number of nodes that run at a time
	Seed    uint64
	Dir     string
	Out     io.Writer
}

// weights are the relative frequencies of the files.
var weights = map[string]int{
	"LOCK": 1, "log.db": 6, "state.db": 6, "state.sums": 5, journalName: 5, "redo": 2, reserveName: 1,
	receivedName: 2, "state.sums.received": 2,
}

// task is a round to be played.
type task struct {
	kind    Kind
	file    string
	running bool
	seed    uint64
}

// campaign collects the results of its workers.
type campaign struct {
	Config
	mu     sync.Mutex
	rounds []Round
	broken []error
	began  time.Time
}

// Report is the result of a campaign.
type Report struct {
	Rounds []Round
	Broken []error // the broken promises, each with its round
	Took   time.Duration
}

// Err returns an error with all broken promises, or nil if there are none.
func (r *Report) Err() error {
	if len(r.Broken) == 0 {
		return nil
	}
	return fmt.Errorf("%d promises were broken: %w", len(r.Broken), errors.Join(r.Broken...))
}

// Run plays all rounds. Its error says why some were not played. The report has the results in any case.
func Run(ctx context.Context, cfg Config) (Report, error) {
	bin, err := cluster.Build(ctx, filepath.Join(cfg.Dir, "bin"))
	if err != nil {
		return Report{}, err
	}
	c := &campaign{Config: cfg, began: time.Now()}
	tasks := make(chan task)
	var wg sync.WaitGroup
	errs := make(chan error, cfg.Workers)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for w := range cfg.Workers {
		wg.Go(func() {
			err := c.work(ctx, bin, filepath.Join(cfg.Dir, fmt.Sprint("worker", w)), tasks)
			if err != nil {
				cancel() // nobody would take its tasks
			}
			errs <- err
		})
	}
	for _, t := range cfg.tasks() {
		select {
		case tasks <- t:
		case <-ctx.Done():
		}
	}
	close(tasks)
	wg.Wait()
	close(errs)
	var failed []error
	for err := range errs {
		failed = append(failed, err)
	}
	return Report{Rounds: c.rounds, Broken: c.broken, Took: time.Since(c.began)}, errors.Join(failed...)
}

// tasks returns the rounds in random order.
func (cfg *Config) tasks() (out []task) {
	r := rand.New(rand.NewPCG(cfg.Seed, 0))
	var names, inUse []string
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		for range weights[name] {
			names = append(names, name)
			if !isReceived(name) { // these files are removed before the node answers
				inUse = append(inUse, name)
			}
		}
	}
	for kind, n := range cfg.Faults {
		for i := range n {
			t := task{kind: Kind(kind), file: names[r.IntN(len(names))], running: i%2 == 0, seed: r.Uint64()}
			if t.running {
				t.file = inUse[r.IntN(len(inUse))]
			}
			out = append(out, t)
		}
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func isReceived(file string) bool { return filepath.Ext(file) == ".received" }

// work plays tasks on nodes of its own, until tasks is closed.
func (c *campaign) work(ctx context.Context, bin cluster.Binaries, dir string, tasks <-chan task) error {
	alone, err := makeAlone(ctx, bin, filepath.Join(dir, "alone"))
	if err != nil {
		return err
	}
	received, err := makeReceived(ctx, bin, filepath.Join(dir, "received"))
	if err != nil {
		return err
	}
	for t := range tasks {
		on := alone
		if isReceived(t.file) {
			on = received
		}
		r := rand.New(rand.NewPCG(t.seed, 1))
		round, err := on.play(ctx, r, drawSome(r, t.kind, t.file, on.content(t.file)), t.running)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.note(round, err)
	}
	return nil
}

func (c *campaign) note(r Round, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rounds = append(c.rounds, r)
	if err != nil {
		c.broken = append(c.broken, err)
		fmt.Fprintf(c.Out, "%v\n", err)
	}
	if n := len(c.rounds); n%50 == 0 {
		total := 0
		for _, k := range c.Faults {
			total += k
		}
		fmt.Fprintf(c.Out, "%d of %d rounds, %d promises broken, %.0f s\n", n, total, len(c.broken),
			time.Since(c.began).Seconds())
	}
}
