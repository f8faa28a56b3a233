package mutants

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"tenure/jepsen/mutants/schemata"
)

// Verdict is what became of one killer on one mutant.
type Verdict string

// The verdicts. All but Killed are failures.
const (
	Killed     Verdict = "killed"
	Survived   Verdict = "SURVIVED"
	NotApplied Verdict = "PATCH DOES NOT APPLY"
	NotBuilt   Verdict = "DOES NOT COMPILE"
	TimedOut   Verdict = "TIMED OUT"
	NoTest     Verdict = "NO SUCH TEST"
	Skipped    Verdict = "TEST SKIPPED"
	OtherCause Verdict = "FAILED FOR ANOTHER REASON"
	NotClean   Verdict = "FAILS WITHOUT THE MUTANT"
)

// finding is a verdict with its evidence.
type finding struct {
	verdict Verdict
	figure  string // what Killer.Figure matched
	took    time.Duration
	output  string
}

// builder compiles test binaries of the module at root with some files replaced.
type builder struct {
	root string
	temp string // its own directory; binaries and replaced files go there
}

// overlay writes the replaced files and go's description of them, and returns the latter's path.
func (b *builder) overlay(changed map[string]string) (string, error) {
	replace := map[string]string{}
	for file, text := range changed {
		to := filepath.Join(b.temp, strings.ReplaceAll(file, "/", "__"))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(b.root, file)] = to
	}
	return schemata.WriteOverlay(b.temp, replace)
}

// compile builds the tests of one package. A failure to compile is not an error but output.
func (b *builder) compile(ctx context.Context, pkg, overlay string) (bin, output string, err error) {
	bin = filepath.Join(b.temp, strings.ReplaceAll(strings.TrimPrefix(pkg, "./"), "/", "__")+".test")
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", bin}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = b.root
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed) && ctx.Err() == nil:
		return "", string(out), nil
	case err != nil:
		return "", "", fmt.Errorf("go test -c %s: %w\n%s", pkg, err, out)
	}
	if _, err := os.Stat(bin); err != nil {
		return "", fmt.Sprintf("package %s has no tests\n%s", pkg, out), nil
	}
	return bin, "", nil
}

// execute runs a test binary as `go test` would, in its package's directory, as the mutant of that number.
func (b *builder) execute(ctx context.Context, bin string, number int, k Killer) finding {
	limit := time.Duration(k.LimitSeconds) * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit+5*time.Second)
	defer cancel()
	args := append([]string{"-test.run", k.Run, "-test.v", "-test.timeout", limit.String(), "-test.failfast"}, k.Args...)
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = filepath.Join(b.root, k.Package)
	if number != 0 {
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", chooseEnv, number))
	}
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	begin := time.Now()
	err := cmd.Run()
	return verdictOf(k, err == nil, ctx.Err() != nil, out.String(), time.Since(begin))
}

var (
	ran      = regexp.MustCompile(`(?m)^=== RUN `)
	failed   = regexp.MustCompile(`(?m)^\s*--- FAIL: `)
	skipped  = regexp.MustCompile(`(?m)^\s*--- SKIP: `)
	panicked = regexp.MustCompile(`(?m)^(panic: |fatal error: )`)
	overtime = regexp.MustCompile(`(?m)^panic: test timed out after `)
)

// verdictOf draws the verdict from how a test ended and what it printed.
func verdictOf(k Killer, passed, cut bool, output string, took time.Duration) finding {
	f := finding{output: output, took: took}
	switch {
	case cut || overtime.MatchString(output):
		f.verdict = TimedOut
	case passed && !ran.MatchString(output):
		f.verdict = NoTest
	case passed && skipped.MatchString(output):
		f.verdict = Skipped
	case passed:
		f.verdict = Survived
	case !failed.MatchString(output) && !panicked.MatchString(output):
		f.verdict = OtherCause // the binary did not run its tests to an end
	case k.Shows != "" && !regexp.MustCompile(k.Shows).MatchString(output):
		f.verdict = OtherCause
	default:
		f.verdict = Killed
		if k.Figure != "" {
			if m := regexp.MustCompile(k.Figure).FindStringSubmatch(output); m != nil {
				f.figure = m[len(m)-1]
			}
		}
	}
	return f
}

// try builds one mutant by itself and runs it against its killers; one finding for each.
func try(ctx context.Context, root string, m Mutant) ([]finding, error) {
	all := func(v Verdict, output string) []finding {
		fs := make([]finding, len(m.Killers))
		for i := range fs {
			fs[i] = finding{verdict: v, output: output}
		}
		return fs
	}
	changed, err := m.changed(root)
	if err != nil {
		return all(NotApplied, err.Error()), nil
	}
	temp, err := os.MkdirTemp("", "tenure-mutant-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	b := &builder{root: root, temp: temp}
	overlay, err := b.overlay(changed)
	if err != nil {
		return nil, err
	}
	return b.all(ctx, overlay, m.Killers)
}

// all compiles each package of the killers once and runs them in turn.
func (b *builder) all(ctx context.Context, overlay string, ks []Killer) ([]finding, error) {
	bins := map[string]built{}
	var fs []finding
	for _, k := range ks {
		x, ok := bins[k.Package]
		if !ok {
			var err error
			if x.bin, x.output, err = b.compile(ctx, k.Package, overlay); err != nil {
				return nil, err
			}
			bins[k.Package] = x
		}
		f := b.attempt(ctx, x, 0, k)
		if overlay != "" {
			f = b.again(ctx, x, 0, k, f)
		}
		fs = append(fs, f)
	}
	return fs, nil
}

// built is a test binary, or why there is none.
type built struct{ bin, output string }

func (b *builder) attempt(ctx context.Context, x built, number int, k Killer) finding {
	if x.bin == "" {
		return finding{verdict: NotBuilt, output: x.output}
	}
	return b.execute(ctx, x.bin, number, k)
}

// crashRuns is how often a mutant is run against a killer of real processes before it counts as alive: where a process
// is killed differs from run to run.
const crashRuns = 3

// again repeats an attempt that a mutant has survived, if another may end otherwise.
func (b *builder) again(ctx context.Context, x built, number int, k Killer, f finding) finding {
	for run := 1; run < crashRuns && k.How == Crash && f.verdict == Survived; run++ {
		f = b.attempt(ctx, x, number, k)
	}
	return f
}
