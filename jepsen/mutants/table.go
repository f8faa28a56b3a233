package mutants

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// Mutant is a row of the table: rules broken on purpose.
type Mutant struct {
	Name    string
	Rule    string   // label or page of the rule, as the module knows it
	Patches []string // of patches/; empty: the one of the mutant's own name
	Killers []Killer `toml:"killer"` // each must notice
}

// Killer is a test that must fail on the mutant and pass without it.
type Killer struct {
	How     How
	Package string   // as in "./lease"
	Run     string   // the test, a -run pattern
	Args    []string // flags of the test binary
	// Shows, if given, is a regular expression that must match what the failing test prints: it failed for this reason.
	Shows string
	// Figure, if given, matches in that output how much it took (states, a seed); it is put into the table.
	Figure string
	// LimitSeconds ends the run; 0 stands for defaultLimitSeconds.
	LimitSeconds int `toml:"limit_seconds"`
}

// How a killer finds what is wrong.
type How string

// The kinds of killers.
const (
	Search   How = "search"   // explores or draws what happens
	Schedule How = "schedule" // plays the trace of a search, or a directed one
	Rule     How = "rule"     // the test of the rule
	Crash    How = "crash"    // real processes on a disk that forgets, fails or flips bits
	Story    How = "story"    // histories with a fault planted, for checkers
)

// defaultLimitSeconds is for a test that hangs: others take some seconds, and ten times that on a machine that is
// overloaded.
const defaultLimitSeconds = 180

// table is mutants.toml.
type table struct {
	Mutants []Mutant `toml:"mutant"`
}

// Root is the directory of the module that contains dir, or the working directory if dir is "".
func Root(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no go.mod in %s or above: run this inside the module", dir)
		}
	}
}

func home(root string) string { return filepath.Join(root, "jepsen", "mutants") }

// Load reads and checks the table of the module at root.
func Load(root string) ([]Mutant, error) {
	path := filepath.Join(home(root), "mutants.toml")
	var t table
	meta, err := toml.DecodeFile(path, &t)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, k := range meta.Undecoded() {
		errs = append(errs, fmt.Errorf("%s: %s means nothing", path, k))
	}
	seen := map[string]bool{}
	for i := range t.Mutants {
		m := &t.Mutants[i]
		if len(m.Patches) == 0 {
			m.Patches = []string{m.Name}
		}
		if err := m.check(); err != nil {
			errs = append(errs, fmt.Errorf("%s: mutant %q: %w", path, m.Name, err))
		}
		if seen[m.Name] {
			errs = append(errs, fmt.Errorf("%s: mutant %q is there twice", path, m.Name))
		}
		seen[m.Name] = true
	}
	return t.Mutants, errors.Join(errs...)
}

func (m *Mutant) check() error {
	if m.Name == "" || m.Rule == "" || len(m.Killers) == 0 {
		return errors.New("it needs a name, a rule and a killer")
	}
	for i := range m.Killers {
		k := &m.Killers[i]
		switch k.How {
		case Search, Schedule, Rule, Crash, Story:
		default:
			return fmt.Errorf("%q is no way to find something", k.How)
		}
		if !strings.HasPrefix(k.Package, "./") || k.Run == "" {
			return fmt.Errorf("killer %q of package %q: both are needed, as in \"./lease\" and \"^TestA2Accept$\"",
				k.Run, k.Package)
		}
		for _, e := range []string{k.Run, k.Shows, k.Figure} {
			if _, err := regexp.Compile(e); err != nil {
				return err
			}
		}
		if k.LimitSeconds == 0 {
			k.LimitSeconds = defaultLimitSeconds
		}
	}
	return nil
}

// String is the killer as one would type it.
func (k Killer) String() string {
	s := fmt.Sprintf("go test %s -run '%s'", k.Package, k.Run)
	if len(k.Args) > 0 {
		s += " -args " + strings.Join(k.Args, " ")
	}
	return s
}

// bounded matches the flags of a killer that only say how far its search goes. A search that goes farther begins in the
// same way: neither the explorer nor the simulator draws from anything but its configuration and its seeds.
var bounded = regexp.MustCompile(`^(-states=|-seeds=)(\d+)$`)

// bound returns how far a search goes, 0 if k is none.
func (k Killer) bound() int {
	for _, a := range k.Args {
		if m := bounded.FindStringSubmatch(a); m != nil {
			n, _ := strconv.Atoi(m[2])
			return n
		}
	}
	return 0
}

// covers reports whether k runs all that o runs: it is the same killer, or the same search with a bound as high.
func (k Killer) covers(o Killer) bool {
	same := func(a, b string) bool {
		x, y := bounded.FindStringSubmatch(a), bounded.FindStringSubmatch(b)
		return a == b || x != nil && y != nil && x[1] == y[1]
	}
	return k.Package == o.Package && k.Run == o.Run && slices.EqualFunc(k.Args, o.Args, same) && k.bound() >= o.bound()
}

// patches reads what the mutant consists of.
func (m *Mutant) patches(root string) ([]patch, error) {
	var ps []patch
	for _, name := range m.Patches {
		p, err := readPatch(home(root), name)
		if err != nil {
			return nil, err
		}
		ps = append(ps, p)
	}
	return ps, nil
}

// says is what the mutant breaks, in words.
func (m *Mutant) says(root string) (string, error) {
	ps, err := m.patches(root)
	if err != nil {
		return "", err
	}
	var words []string
	for _, p := range ps {
		words = append(words, p.says)
	}
	return strings.Join(words, " And: "), nil
}

// patchFiles are the names of all patches that lie in patches/, sorted.
func patchFiles(root string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(home(root), "patches", "*.patch"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".patch"))
	}
	sort.Strings(names)
	return names, nil
}
