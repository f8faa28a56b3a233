package mutants

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// suite has the test binaries of all killers, with all mutants in them that can be in one program.
type suite struct {
	builder
	joint   *joint
	bins    map[string]built // by package
	killers []Killer         // each once; the longest come first, and those that another one covers are left out
	workers int
}

// newSuite compiles the packages of all killers of ms. close removes the binaries.
func newSuite(ctx context.Context, root string, ms []Mutant, workers int) (*suite, error) {
	temp, err := os.MkdirTemp("", "tenure-mutant-")
	if err != nil {
		return nil, err
	}
	s := &suite{builder: builder{root: root, temp: temp}, bins: map[string]built{}, workers: workers}
	for _, m := range ms {
		for _, k := range m.Killers {
			s.bins[k.Package] = built{}
		}
	}
	s.killers = uncovered(ms)
	if s.joint, err = join(root, temp, ms); err != nil {
		s.close()
		return nil, err
	}
	var mu sync.Mutex
	packages := slices.Sorted(maps.Keys(s.bins))
	err = s.each(ctx, len(packages), func(ctx context.Context, i int) error {
		bin, output, err := s.compile(ctx, packages[i], s.joint.overlay)
		mu.Lock()
		defer mu.Unlock()
		s.bins[packages[i]] = built{bin, output}
		return err
	})
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *suite) close() { os.RemoveAll(s.temp) }

// each calls f for 0 to n-1, some at a time.
func (s *suite) each(ctx context.Context, n int, f func(context.Context, int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.workers)
	for i := range n {
		g.Go(func() error { return f(ctx, i) })
	}
	return g.Wait()
}

// uncovered returns killers of ms that, if they pass without a mutant, show that all pass. Each is there once. Of
// searches that differ only in their bounds only the farthest one is there, which includes the others. The highest
// bounds come first.
func uncovered(ms []Mutant) []Killer {
	var out []Killer
	for _, m := range ms {
		for _, k := range m.Killers {
			if slices.ContainsFunc(out, func(o Killer) bool { return o.covers(k) }) {
				continue
			}
			out = append(slices.DeleteFunc(out, k.covers), k)
		}
	}
	slices.SortStableFunc(out, func(a, b Killer) int { return cmp.Compare(b.bound(), a.bound()) })
	return out
}

// baseline is what came of the killers without a mutant, by Killer.String.
type baseline map[string]finding

// clean runs the killers without a mutant, where each must pass.
func (s *suite) clean(ctx context.Context) (baseline, error) {
	all := baseline{}
	var mu sync.Mutex
	err := s.each(ctx, len(s.killers), func(ctx context.Context, i int) error {
		k := s.killers[i]
		f := s.attempt(ctx, s.bins[k.Package], 0, k)
		if f.verdict == Killed || f.verdict == OtherCause {
			f.verdict = NotClean
		}
		mu.Lock()
		defer mu.Unlock()
		all[k.String()] = f
		return ctx.Err()
	})
	return all, err
}

// bad returns the killers that do not pass, sorted.
func (b baseline) bad() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if b[name].verdict != Survived {
			names = append(names, name)
		}
	}
	return names
}

// slowest returns the n killers that took longest, the longest first.
func (b baseline) slowest(n int) []string {
	names := slices.Sorted(maps.Keys(b))
	slices.SortStableFunc(names, func(x, y string) int { return cmp.Compare(b[y].took, b[x].took) })
	return names[:min(n, len(names))]
}

// try runs a mutant against its killers; one finding for each. A mutant that is not in the joint program, or whose
// packages do not compile in it, is built by itself.
func (s *suite) try(ctx context.Context, m Mutant) ([]finding, error) {
	number := s.joint.number[m.Name]
	if number == 0 {
		return try(ctx, s.root, m)
	}
	var fs []finding
	for _, k := range m.Killers {
		if s.bins[k.Package].bin == "" {
			return try(ctx, s.root, m)
		}
		f := s.attempt(ctx, s.bins[k.Package], number, k)
		fs = append(fs, s.again(ctx, s.bins[k.Package], number, k, f))
	}
	return fs, ctx.Err()
}
