package alerts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tenure/jepsen/cluster"
)

// Config says what to try.
type Config struct {
	Dir    string        // of data and logs
	Out    io.Writer     // progress
	Health time.Duration // how long the first cluster is watched in health
	Beds   []string      // names of Beds; none: all
}

// Bed is a cluster, and the faults that are tried on it.
type Bed struct {
	Name string
	Says string // the faults, in one line
	play func(context.Context, *bed) error
}

// Beds returns all beds, in the order in which Run plays them.
func Beds() []Bed {
	return []Bed{
		{"plain", "health and the dashboard; nodes killed and restarted, quotas, floods, old copies", playPlain},
		{"disks", "disks that are silent, slow and nearly full", playDisks},
		{"machines", "cut networks, wrong clocks, late processes, killed guardians, two versions", playMachines},
		{"certificates", "certificates that expire, files of no use, an audit log without space", playCertificates},
		{"differ", "nodes with different states", playDiffer},
	}
}

// Fired is an alert that its fault made fire.
type Fired struct {
	Alert, Fault string
	After        time.Duration // from when the fault was complete
}

// atATime is how many beds are played at a time: they mostly wait.
const atATime = 2

// Run plays the beds and returns the alerts that fired as they should, even with an error.
func Run(ctx context.Context, cfg Config) ([]Fired, error) {
	chosen, err := choose(cfg.Beds)
	if err != nil {
		return nil, err
	}
	bin, err := cluster.Build(ctx, filepath.Join(cfg.Dir, "bin"))
	if err != nil {
		return nil, err
	}
	kvctl, err := cluster.BuildKvctl(ctx, filepath.Join(cfg.Dir, "bin"))
	if err != nil {
		return nil, err
	}
	beds := make([]*bed, len(chosen))
	out := log.New(cfg.Out, "", 0)
	play := func(i int) error {
		x := chosen[i]
		b := &bed{name: x.Name, out: out, health: cfg.Health, dir: filepath.Join(cfg.Dir, x.Name), bin: bin, kvctl: kvctl}
		beds[i] = b
		defer b.close()
		if err := x.play(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", x.Name, err)
		}
		return nil
	}
	var group errgroup.Group
	group.SetLimit(atATime)
	for i, x := range chosen {
		if x.Name == "plain" {
			err = play(i) // alone: what fires in health must not come from the other clusters
			continue
		}
		group.Go(func() error { return play(i) })
	}
	err = errors.Join(err, group.Wait())
	var all []Fired
	for _, b := range beds {
		all = append(all, b.fired...)
	}
	return all, err
}

// choose returns the beds with these names, in the order of Beds.
func choose(names []string) (out []Bed, err error) {
	for _, b := range Beds() {
		if len(names) == 0 || slices.Contains(names, b.Name) {
			out = append(out, b)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(out, func(b Bed) bool { return b.Name == name }) {
			return nil, fmt.Errorf("there is no cluster %q; jepsen alerts --list names all", name)
		}
	}
	return out, nil
}

// Write prints the alerts as a table.
func Write(out io.Writer, fired []Fired) {
	fmt.Fprintf(out, "\n%-30s  %-72s  %s\n", "alert", "fault", "fired after")
	last := ""
	for _, f := range fired {
		fault := f.Fault
		if fault == last {
			fault = strings.Repeat(" ", 4) + "the same"
		}
		last = f.Fault
		fmt.Fprintf(out, "%-30s  %-72s  %5.1f s\n", f.Alert, fault, f.After.Seconds())
	}
}
