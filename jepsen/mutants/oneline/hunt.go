package oneline

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"
)

// Options are what a hunt is asked to do.
type Options struct {
	Files   []string       // every mutant of these files
	Seed    uint64         // draws
	Count   int            // so many more of all packages
	Match   *regexp.Regexp // only mutants whose key matches; nil: all
	Results string         // file that is appended to
	Again   bool           // try the survivors of the results file once more, and nothing else
	Quick   bool           // leave out tests that run whole clusters or take longer than quickSeconds
	List    bool           // print the mutants and run nothing
	Report  bool           // count the results of the chosen mutants and run nothing
	Out     io.Writer
}

// quickSeconds is how long a test may take, without a mutant, to be part of a quick hunt.
const quickSeconds = 2

// hangAfter is how much longer than eight times its usual time a test may take. It is a variable for the tests.
var hangAfter = 12 * time.Second

// hunt is one run.
type hunt struct {
	o        Options
	r        *runner
	results  *results
	equal    map[string]string
	overlay  string
	bins     map[string]string
	tests    map[string][]*test  // by package, the quickest first
	killed   map[string][]string // by function: tests that have killed a mutant of it
	baseline map[string]*test
}

// Run hunts in the module at root, one mutant at a time.
func Run(ctx context.Context, root string, o Options) error {
	res, err := openResults(o.Results)
	if err != nil {
		return err
	}
	equal, err := loadEquals(root)
	if err != nil {
		return err
	}
	ps, err := load(root, slices.Sorted(maps.Keys(suites)))
	if err != nil {
		return err
	}
	var all []*Mutant
	for _, p := range ps {
		all = append(all, p.mutants()...)
	}
	for _, f := range o.Files {
		if !slices.ContainsFunc(all, func(m *Mutant) bool { return m.File == f }) {
			return fmt.Errorf("no mutant is in a file %q", f)
		}
	}
	fmt.Fprintf(o.Out, "%d mutants in all\n", len(all))
	h := &hunt{o: o, results: res, equal: equal, bins: map[string]string{}, killed: map[string][]string{}}
	ms, err := h.todo(all)
	if err != nil || o.List || len(ms) == 0 {
		return err
	}
	dir, err := os.MkdirTemp("", "tenure-one-line-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	h.r = &runner{root, dir}
	if err := h.prepare(ps, ms); err != nil {
		return err
	}
	for i, m := range ms {
		x, err := h.try(ctx, m)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if err := h.results.add(x); err != nil {
			return err
		}
		h.tell(i+1, len(ms), x)
	}
	return nil
}

// todo picks the mutants and leaves out those that have a result.
func (h *hunt) todo(all []*Mutant) ([]*Mutant, error) {
	if h.o.Again {
		var ms []*Mutant
		for _, m := range all {
			if r, ok := h.results.old[m.Key()]; ok && r.Verdict == Survived && h.equal[m.equalKey()] == "" &&
				(h.o.Match == nil || h.o.Match.MatchString(m.Key())) {
				ms = append(ms, m)
			}
		}
		fmt.Fprintf(h.o.Out, "%d survivors are tried again\n", len(ms))
		return ms, nil
	}
	c := choice{files: h.o.Files, seed: h.o.Seed, count: h.o.Count, match: h.o.Match}
	ms, broken := c.pick(all, h.results.old)
	for _, m := range broken {
		if _, known := h.results.old[m.Key()]; !known && !h.o.List {
			if err := h.results.add(result{Mutant: *m, Verdict: NotCompiled}); err != nil {
				return nil, err
			}
		}
	}
	fmt.Fprintf(h.o.Out, "%d chosen, %d more do not compile\n", len(ms), len(broken))
	if h.o.List {
		for _, m := range ms {
			fmt.Fprintln(h.o.Out, m.Diff())
		}
		return ms, nil
	}
	if h.o.Report {
		h.report(ms, broken)
		return nil, nil
	}
	// The packages with the quickest tests come first: binaries are built when they are needed. Last come the mutants
	// outside functions, each of which needs builds of its own.
	order := []string{"lease", "lease/named", "multipaxos", "kv", "server/watch", "server/replica/elector",
		"server/replica/clocks", "server/replica/snapshots", "server/replica/leases", "server/replica", "server/archive",
		"server/runner", "server/backend", "server/archiver", "server/backup", "server/recovery", "server/service",
		"server/web", "client",
		"storage/internal/sealed", "storage/internal/space", "storage/internal/disk", "storage/internal/pages",
		"storage/internal/acceptor", "storage/internal/state", "storage"}
	sort.SliceStable(ms, func(i, j int) bool {
		if (ms[i].Func == "") != (ms[j].Func == "") {
			return ms[j].Func == ""
		}
		return slices.Index(order, ms[i].pkg.dir) < slices.Index(order, ms[j].pkg.dir)
	})
	ms = slices.DeleteFunc(ms, func(m *Mutant) bool { _, done := h.results.old[m.Key()]; return done })
	fmt.Fprintf(h.o.Out, "%d of them have no result yet\n", len(ms))
	return ms, nil
}

// prepare writes the mutants beside the code.
func (h *hunt) prepare(ps []*pkg, ms []*Mutant) error {
	overlay, err := instrument(h.r.root, h.r.dir, ps, ms)
	if err != nil {
		return err
	}
	h.overlay = overlay
	if h.baseline, err = readBaseline(h.o.Results + ".baseline"); err != nil {
		return err
	}
	h.tests = map[string][]*test{}
	return nil
}

// suite builds the tests of a package and measures them, the first time that it is asked for.
func (h *hunt) suite(ctx context.Context, pkg string) error {
	if h.bins[pkg] != "" {
		return nil
	}
	bin, output, err := h.r.build(ctx, pkg, h.overlay, "")
	if err != nil {
		return err
	}
	if bin == "" {
		return fmt.Errorf("the tests of %s do not compile with the mutants beside the code:\n%s", pkg, output)
	}
	ts, err := h.r.baseline(ctx, bin, pkg, h.overlay, h.baseline)
	if err != nil {
		return err
	}
	h.bins[pkg] = bin
	total, bad := 0.0, []string{}
	for _, t := range ts {
		total += t.Seconds
		h.baseline[t.key()] = t
		t.Reach = map[string]struct{}{}
		for _, c := range t.Calls {
			t.Reach[c] = struct{}{}
		}
		if !t.Passes {
			bad = append(bad, t.Name)
		}
	}
	fmt.Fprintf(h.o.Out, "%s: %d tests, %.0f s; left out because they fail without a mutant: %v\n",
		pkg, len(ts), total, bad)
	ts = slices.DeleteFunc(ts, func(t *test) bool { return !t.Passes })
	sort.SliceStable(ts, func(i, j int) bool { return ts[i].Seconds < ts[j].Seconds })
	h.tests[pkg] = ts
	var known []*test
	for _, k := range slices.Sorted(maps.Keys(h.baseline)) {
		known = append(known, h.baseline[k])
	}
	return writeBaseline(h.o.Results+".baseline", known)
}

// suites are the packages whose tests are run on the mutants of p. A quick hunt leaves out those that run whole
// clusters.
func (h *hunt) suites(p *pkg) []string {
	all := suites[p.dir]
	if !h.o.Quick {
		return all
	}
	var out []string
	for _, s := range all {
		if s == p.dir || s != "jepsen/sim" && s != "server" && s != "client" && s != "storage" {
			out = append(out, s)
		}
	}
	return out
}

// batch is tests of one package that are run in one process.
type batch struct {
	pkg     string
	names   []string
	seconds float64 // without a mutant
}

// plan lists the tests that call m's function, the quickest first, in few processes.
func (h *hunt) plan(m *Mutant) (bs []batch, tests int) {
	first := map[string]*batch{}
	for _, pkg := range h.suites(m.pkg) {
		step, limits := 0, []float64{0.5, 5}
		b := batch{pkg: pkg}
		for _, t := range h.tests[pkg] {
			if _, calls := t.Reach[reachName(m.File, m.Func)]; m.Func != "" && !calls {
				continue
			}
			if h.o.Quick && t.Seconds > quickSeconds {
				continue
			}
			tests++
			if slices.Contains(h.killed[m.File+m.Func], t.key()) {
				if first[pkg] == nil {
					first[pkg] = &batch{pkg: pkg}
				}
				first[pkg].names = append(first[pkg].names, t.Name)
				first[pkg].seconds += t.Seconds
				continue
			}
			if step < len(limits) && b.seconds+t.Seconds > limits[step] && len(b.names) > 0 {
				bs = append(bs, b)
				b = batch{pkg: pkg}
				step++
			}
			b.names = append(b.names, t.Name)
			b.seconds += t.Seconds
		}
		if len(b.names) > 0 {
			bs = append(bs, b)
		}
	}
	sort.SliceStable(bs, func(i, j int) bool { return bs[i].seconds < bs[j].seconds })
	var front []batch
	for _, pkg := range h.suites(m.pkg) {
		if b := first[pkg]; b != nil {
			front = append(front, *b)
		}
	}
	return append(front, bs...), tests
}

// try runs the tests on one mutant until one fails twice.
func (h *hunt) try(ctx context.Context, m *Mutant) (result, error) {
	began := time.Now()
	x := result{Mutant: *m, Verdict: Survived, Quick: h.o.Quick}
	for _, pkg := range h.suites(m.pkg) {
		if err := h.suite(ctx, pkg); err != nil {
			return x, err
		}
	}
	bs, tests := h.plan(m)
	x.Tests = tests
	overlay, own := h.overlay, map[string]string{}
	if m.Func == "" {
		dir, err := os.MkdirTemp(h.r.dir, "single")
		if err != nil {
			return x, err
		}
		defer os.RemoveAll(dir)
		if overlay, err = single(h.r.root, dir, m); err != nil {
			return x, err
		}
	}
	for _, b := range bs {
		bin := h.bins[b.pkg]
		if m.Func == "" {
			if own[b.pkg] == "" {
				built, _, err := h.r.build(ctx, b.pkg, overlay, "-single")
				if err != nil {
					return x, err
				}
				if built == "" {
					x.Verdict = NotCompiled
					break
				}
				own[b.pkg] = built
			}
			bin = own[b.pkg]
		}
		if h.batch(ctx, &x, m, b, bin, overlay) || ctx.Err() != nil {
			break
		}
	}
	x.Seconds = time.Since(began).Seconds()
	return x, nil
}

// batch reports whether one of the tests of b kills m. A failure counts if it comes again.
func (h *hunt) batch(ctx context.Context, x *result, m *Mutant, b batch, bin, overlay string) bool {
	limit := hangAfter + time.Duration(8*b.seconds*float64(time.Second))
	env := fmt.Sprintf("%s=%d", chooseEnv, m.id)
	names := b.names
	for range 3 {
		if len(names) == 0 {
			return false
		}
		e := h.r.run(ctx, bin, b.pkg, pattern(names), limit, overlay, env)
		if e.passed || ctx.Err() != nil {
			return false
		}
		x.By = b.pkg
		if e.hung || e.bloated {
			x.Verdict = TookLong
			if e.bloated {
				x.Verdict = TookMemory
			}
			return true
		}
		again := names
		if f := failedTest.FindStringSubmatch(e.output); f != nil && slices.Contains(names, f[1]) {
			again = []string{f[1]}
			x.By += " " + f[1]
		}
		if e := h.r.run(ctx, bin, b.pkg, pattern(again), limit, overlay, env); !e.passed {
			x.Verdict = Killed
			if len(again) == 1 {
				h.remember(m, b.pkg+" "+again[0])
			}
			return true
		}
		x.By = "" // it fails now and then, with the mutant or without
		names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return len(again) == 1 && n == again[0] })
	}
	return false
}

func (h *hunt) remember(m *Mutant, killer string) {
	const most = 4
	k := m.File + m.Func
	list := slices.DeleteFunc(h.killed[k], func(s string) bool { return s == killer })
	list = append([]string{killer}, list...)
	h.killed[k] = list[:min(most, len(list))]
}

func pattern(names []string) string { return "^(" + strings.Join(names, "|") + ")$" }

func (h *hunt) tell(n, of int, x result) {
	if x.Verdict == Survived && h.equal[x.equalKey()] != "" {
		x.Verdict = Equal
	}
	at := filepath.ToSlash(x.File)
	fmt.Fprintf(h.o.Out, "%s %d/%d %-16s %5.1f s  %s:%d %s  %s\n",
		time.Now().Format("15:04:05"), n, of, x.Verdict, x.Seconds, at, x.Line, x.Operator, x.By)
	if x.Verdict == Survived {
		fmt.Fprintf(h.o.Out, "%s\n\t%d tests call it\n", x.Diff(), x.Tests)
	}
}
