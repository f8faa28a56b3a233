package explore

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func parse[C World](t *testing.T, name string) C {
	t.Helper()
	w, err := Parse(name)
	c, ok := w.(C)
	if !ok {
		t.Fatalf("%s: %T, %v", name, w, err)
	}
	return c
}

// explored searches a configuration, and logs what it found.
func explored(t *testing.T, w World, lim Limits) Result {
	t.Helper()
	r, err := Run(context.Background(), w, lim)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s: %d states, depth %d, %.0f a second, %d blocked", w.label(), r.Verdict(), r.States, r.Depth,
		pace(r.States, r.Elapsed), r.Blocked)
	return r
}

// sound fails if something is broken within so many states of a configuration, and shows the trace.
func sound(t *testing.T, name string, maxStates int) Result {
	t.Helper()
	r := explored(t, parse[World](t, name), Limits{MaxStates: maxStates})
	if r.Violation != "" {
		var b strings.Builder
		r.Print(&b)
		t.Fatalf("go run ./jepsen explore --config %s\n%s", name, b.String())
	}
	return r
}

// clean fails unless a configuration is searched to its end and nothing is broken.
func clean(t *testing.T, name string) Result {
	t.Helper()
	r := sound(t, name, 5_000_000)
	if !r.Complete() {
		t.Fatalf("%s: %s", name, r.Verdict())
	}
	return r
}

// Each of these takes about a second on an idle machine, and together they meet every rule of the lease.
var short = []string{
	"base", "renewal", "retry", "release", "redelivery", "drift", "quarantine-equals-D_P",
	"three-acceptors+one-ballot", "three-acceptors+one-ballot+short-leases",
	"three-acceptors+release+one-ballot+short-leases",
	"three-acceptors+release+short-leases",
	"three-acceptors+release+renewal+short-leases",
	"three-acceptors+one-ballot+quarantine-equals-D_P",
	"epochs+renewal+release", "guardian+short-leases", "guardian+renewal+short-leases+one-ballot",
}

func TestExploreShort(t *testing.T) {
	for _, name := range short {
		t.Run(name, func(t *testing.T) {
			if r := clean(t, name); r.States < 100 {
				t.Errorf("%d states prove little", r.States)
			}
		})
	}
}

var longScale = flag.Bool("long", false, "explore the configurations that take minutes too")

// Each of these takes some seconds to a minute.
var long = []string{
	"three-acceptors+renewal+two-durations",
	"three-acceptors+renewal+release+epochs",
	"three-acceptors+smaller-M+one-ballot",
	"three-acceptors+quarantine-equals-D_P+short-leases",
	"three-acceptors+quarantine-equals-D_P+release+short-leases",
	"crash-restart+three-acceptors+prompt",
}

func TestExploreLong(t *testing.T) {
	if !*longScale {
		t.Skip("minutes: run it with -long, or search further with go run ./jepsen explore")
	}
	for _, name := range long {
		t.Run(name, func(t *testing.T) { clean(t, name) })
	}
}

// The recorded traces each break a core with one rule weakened. This one they must not.
func TestReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/*.trace")
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".trace"), func(t *testing.T) {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			r, err := Replay(f)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Steps) < 5 {
				t.Errorf("only %d steps could be taken", len(r.Steps))
			}
			if r.Violation != "" {
				t.Errorf("%s", r.Violation)
			}
			if r.Violation != "" || testing.Verbose() {
				for i, s := range r.Steps {
					t.Logf("%3d %s", i+1, s.Line)
				}
			}
		})
	}
}

// Drift holds within ρ and breaks beyond it: so the clocks of the model do run at their rates.
func TestDriftBeyondBound(t *testing.T) {
	within := parse[Config](t, "drift+three-acceptors+one-ballot")
	if r := explored(t, within, Limits{}); !r.Complete() {
		t.Fatalf("within the bound: %s", r.Verdict())
	}
	beyond := within
	for i := range beyond.AcceptorRates {
		beyond.AcceptorRates[i] = 6 * ms // three times the slow proposer's; 1.5 is allowed
	}
	if r := explored(t, beyond, Limits{}); r.Violation != "two owners" {
		t.Fatalf("beyond the bound: %s", r.Verdict())
	}
}

// The result does not depend on how many goroutines searched.
func TestWorkersDoNotShow(t *testing.T) {
	c := parse[Config](t, "three-acceptors+one-ballot")
	for i := range c.AcceptorRates {
		c.AcceptorRates[i] = 1 * ms
	}
	c.Margin = 0
	beyond := parse[Config](t, "drift+three-acceptors+one-ballot")
	beyond.AcceptorRates = []time.Duration{6 * ms, 6 * ms, 6 * ms}
	for _, c := range []Config{c, beyond} {
		one, two := explored(t, c, Limits{Workers: 1}), explored(t, c, Limits{Workers: 3})
		if one.States != two.States || one.Depth != two.Depth || one.Script() != two.Script() {
			t.Errorf("%s: one goroutine: %d states to depth %d\n%s\nthree: %d to depth %d\n%s", c.Name,
				one.States, one.Depth, one.Script(), two.States, two.Depth, two.Script())
		}
	}
}

func TestABoundIsSaid(t *testing.T) {
	r := explored(t, parse[Config](t, "base"), Limits{MaxStates: 5000})
	if r.Complete() || !strings.Contains(r.Verdict(), "stopped at 5000 states") {
		t.Errorf("stopped search says %q", r.Verdict())
	}
}

func TestParse(t *testing.T) {
	for _, name := range TableNames() {
		parse[World](t, name)
	}
	for _, name := range []string{"", "bas", "renewal+bas", "base+renewal"} {
		if _, err := Parse(name); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
}

func TestUpdateTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(path, []byte("before\n"+tableBegin+"\n"+tableEnd+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range []Result{
		{Name: "renewal", States: 7}, {Name: "base", States: 1}, {Name: "base", States: 2, Bound: "interrupted"},
	} {
		if err := UpdateTable(path, r); err != nil {
			t.Fatal(err)
		}
	}
	missing, err := Missing(path, []string{"base", "renewal", "retry"})
	if err != nil || strings.Join(missing, " ") != "base retry" {
		t.Errorf("missing are %v, %v", missing, err)
	}
	b, _ := os.ReadFile(path)
	text := string(b)
	if !strings.HasPrefix(text, "before\n"+tableBegin) || !strings.HasSuffix(text, tableEnd+"\nafter\n") ||
		!strings.Contains(text,
			"| base | 2 | 0 | 0.0 | none found, interrupted |\n| renewal | 7 | 0 | 0.0 | clean, complete |\n") ||
		strings.Contains(text, "| base | 1 |") {
		t.Errorf("the file is\n%s", text)
	}
}
