package mutants

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options are what `jepsen mutants` is asked to do.
type Options struct {
	Run     *regexp.Regexp // only mutants whose name matches; nil: all
	Update  bool           // write results.toml and TABLE.md
	Workers int            // mutants at a time
	Verbose bool           // show what the killers print
	Out     io.Writer
}

// row is one mutant with what came of it.
type row struct {
	m  Mutant
	fs []finding
}

func (r row) dead() bool {
	for _, f := range r.fs {
		if f.verdict != Killed {
			return false
		}
	}
	return len(r.fs) > 0
}

// Run mutates the module at root as o says. An error tells that something is not as it must be; what, has been
// printed.
func Run(ctx context.Context, root string, o Options) error {
	all, err := Load(root)
	if err != nil {
		return err
	}
	var ms []Mutant
	for _, m := range all {
		if o.Run == nil || o.Run.MatchString(m.Name) {
			ms = append(ms, m)
		}
	}
	if len(ms) == 0 {
		return fmt.Errorf("no mutant has a name like that; -list shows all %d", len(all))
	}
	begin := time.Now()
	s, err := newSuite(ctx, root, ms, o.Workers)
	if err != nil {
		return err
	}
	defer s.close()
	for pkg, b := range s.bins {
		if b.bin == "" {
			fmt.Fprintf(o.Out, "%s does not compile with all mutants in it: each is built by itself\n%s\n", pkg, tail(b.output))
		}
	}
	fmt.Fprintf(o.Out, "%d of %d mutants are in one program, compiled in %.0f s\n",
		len(s.joint.number), len(ms), time.Since(begin).Seconds())
	base, err := s.clean(ctx)
	if err != nil {
		return err
	}
	showBaseline(o, base, time.Since(begin))
	rows, err := runAll(ctx, root, s, ms, o)
	if err != nil {
		return err
	}
	survivors := 0
	for _, r := range rows {
		if !r.dead() {
			survivors++
		}
	}
	fmt.Fprintf(o.Out, "%d of %d mutants killed in %.0f s\n", len(rows)-survivors, len(rows), time.Since(begin).Seconds())
	bad := base.bad()
	for _, k := range bad { // once more: what was printed at the start may be far up by now
		fmt.Fprintf(o.Out, "%s without any mutant: %s\n", base[k].verdict, k)
	}
	if survivors > 0 || len(bad) > 0 {
		return fmt.Errorf("%d mutants are not killed, %d killers do not pass without them", survivors, len(bad))
	}
	if o.Update {
		return update(root, all, rows)
	}
	return nil
}

// runAll tries the mutants, some at a time, and prints them as they are done. The mutants that took longest when
// results.toml was written start first, so that no long one runs alone at the end.
func runAll(ctx context.Context, root string, s *suite, ms []Mutant, o Options) ([]row, error) {
	known, err := readResults(root)
	if err != nil {
		return nil, err
	}
	seconds := func(m Mutant) (sum float64) {
		for _, k := range m.Killers {
			sum += known[m.Name+" "+k.String()].Seconds
		}
		return sum
	}
	order := make([]int, len(ms))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(seconds(ms[b]), seconds(ms[a])) })
	rows := make([]row, len(ms))
	var mu sync.Mutex
	err = s.each(ctx, len(ms), func(ctx context.Context, n int) error {
		i := order[n]
		fs, err := s.try(ctx, ms[i])
		mu.Lock()
		defer mu.Unlock()
		rows[i] = row{ms[i], fs}
		show(o, rows[i])
		return err
	})
	return rows, err
}

// showBaseline prints what came of the killers without a mutant, and which took longest.
func showBaseline(o Options, base baseline, took time.Duration) {
	bad := base.bad()
	fmt.Fprintf(o.Out, "without any mutant: %d of %d killers do not pass, %.0f s\n", len(bad), len(base), took.Seconds())
	for _, k := range bad {
		fmt.Fprintf(o.Out, "%s: %s\n%s\n", base[k].verdict, k, tail(base[k].output))
	}
	for _, k := range base.slowest(5) {
		fmt.Fprintf(o.Out, "%6.1f s  %s\n", base[k].took.Seconds(), k)
	}
}

// show prints a mutant's line for each killer, and what a killer printed that did not kill.
func show(o Options, r row) {
	name := r.m.Name
	for i, f := range r.fs {
		k := r.m.Killers[i]
		fmt.Fprintf(o.Out, "%-32s %-9s %-8s %6.1f s  %s %s  %s\n",
			name, f.verdict, k.How, f.took.Seconds(), k.Package, k.Run, f.figure)
		if f.verdict != Killed || o.Verbose {
			fmt.Fprintln(o.Out, tail(f.output))
		}
		name = ""
	}
}

// tail is the end of a text, enough to see what happened.
func tail(s string) string {
	const most = 40
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) > most {
		lines = append([]string{"…"}, lines[len(lines)-most:]...)
	}
	return "\t" + strings.Join(lines, "\n\t")
}

// List prints the mutants and their killers.
func List(root string, o Options) error {
	ms, err := Load(root)
	if err != nil {
		return err
	}
	for _, m := range ms {
		if o.Run != nil && !o.Run.MatchString(m.Name) {
			continue
		}
		says, err := m.says(root)
		if err != nil {
			return err
		}
		fmt.Fprintf(o.Out, "%s (%s): %s\n", m.Name, m.Rule, says)
		for _, k := range m.Killers {
			fmt.Fprintf(o.Out, "\t%-8s %s\n", k.How, k)
		}
	}
	return nil
}
