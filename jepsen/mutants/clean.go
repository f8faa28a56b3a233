package mutants

import (
	"context"
	"os"
	"sync"

	"golang.org/x/sync/errgroup"
)

// clean runs every killer of ms once on the unchanged code, where it must pass, and returns those that do not.
func clean(ctx context.Context, root string, ms []Mutant, workers int) (map[string]finding, error) {
	temp, err := os.MkdirTemp("", "tenure-mutant-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	b := &builder{root: root, temp: temp}
	var ks []Killer
	bins, seen := map[string]built{}, map[string]bool{}
	for _, m := range ms {
		for _, k := range m.Killers {
			if !seen[k.String()] {
				seen[k.String()] = true
				ks = append(ks, k)
				bins[k.Package] = built{}
			}
		}
	}
	var mu sync.Mutex
	each := func(n int, f func(context.Context, int) error) error {
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(workers)
		for i := range n {
			g.Go(func() error { return f(ctx, i) })
		}
		return g.Wait()
	}
	packages := sortedKeys(bins)
	err = each(len(packages), func(ctx context.Context, i int) error {
		bin, output, err := b.compile(ctx, packages[i], "")
		mu.Lock()
		defer mu.Unlock()
		bins[packages[i]] = built{bin, output}
		return err
	})
	if err != nil {
		return nil, err
	}
	bad := map[string]finding{}
	err = each(len(ks), func(ctx context.Context, i int) error {
		f := b.attempt(ctx, bins[ks[i].Package], ks[i])
		if f.verdict == Survived { // as it should be
			return ctx.Err()
		}
		if f.verdict == Killed || f.verdict == OtherCause {
			f.verdict = NotClean
		}
		mu.Lock()
		defer mu.Unlock()
		bad[ks[i].String()] = f
		return ctx.Err()
	})
	return bad, err
}
