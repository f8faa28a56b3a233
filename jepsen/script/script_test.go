package script

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite what the scripts expect; what they want must hold even so")

// all are the real stages and the naive vote.
func all() Stages {
	s := Real()
	s["naive"] = openNaive
	return s
}

func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Play(string(text), all())
			if err != nil {
				t.Errorf("the story went wrong:\n%v", err)
			}
			if again, _ := Play(string(text), all()); again != got {
				t.Errorf("not the same twice:\n%s", diff(got, again))
			}
			if got == string(text) {
				return
			}
			if *update && err == nil {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("-%s +played (go test ./jepsen/script -update accepts it):\n%s", file, diff(string(text), got))
		})
	}
}

// The stories above pass or fail by what Play makes of a script: here it is given ones that are wrong.
func TestPlaySaysWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct{ text, played, failure string }{
		"empty":          {"", "", ""},
		"output missing": {"cell", "cell\n----\nok", ""},
		"output differs": {"cell\n----\nnonsense\n\n# end\n", "cell\n----\nok\n\n# end\n", ""},
		"two in a block": {"cell\nstart 1\nstart 2\n----\n",
			"  0.000  1 starts 1@1.1, deadline 5.000\n  0.000  2 starts 1@2.1, deadline 5.000", ""},
		"no stage":         {"start 1\n", "FAILED", "line 1, start 1: no stage is open"},
		"unknown":          {"cell\n\ndance 1\n", "FAILED", "line 3, dance 1"},
		"left over":        {"cell nods=4\n", "FAILED", "nods=4 is left over"},
		"no such node":     {"cell\nstart 4\n", "FAILED", "not a node, 1 to 3"},
		"too many nodes":   {"cell nodes=8\n", "FAILED", "8 nodes"},
		"bad time":         {"cell\nrun to=soon\n", "FAILED", "to is not a time"},
		"back in time":     {"cell\nrun to=2s\nrun to=1s\n", "FAILED", "it is 2.000 already"},
		"lease above M":    {"cell\nstart 1 for=6s\n", "FAILED", "nobody may try"},
		"dead node":        {"cell\nstop 1\nrelease 1\n", "FAILED", "node 1 is down"},
		"holding of none":  {"cell\nwant owner=none tenure=1\n", "FAILED", "nobody has tenure 1"},
		"other tenure":     {"cell\nstart 1\nrun to=2s\nwant owner=1 tenure=2\n", "FAILED", "owns by tenure 1, not 2"},
		"refused timing":   {"cell lease=5s drift=1000000\n", "FAILED", "drift"},
		"want":             {"cell\nwant owner=1\n", "FAILED", "the owner is none, not 1"},
		"want of cluster":  {"cluster\nwant master=1\n", "FAILED", "the master is none, not 1"},
		"cluster left":     {"cluster\npause 1 nowhere\n", "FAILED", "nowhere"},
		"want of the vote": {"naive\nstart 1\nrun to=2s\nwant owner=2\n", "FAILED", "the owner is 1, not 2"},
	} {
		t.Run(name, func(t *testing.T) {
			played, err := Play(c.text, all())
			if !strings.Contains(played, c.played) {
				t.Errorf("played:\n%s\nwithout:\n%s", played, c.played)
			}
			if (err != nil) != (c.failure != "") || err != nil && !strings.Contains(err.Error(), c.failure) {
				t.Errorf("the error is %v, not %q", err, c.failure)
			}
			if c.failure == "" && played != "" {
				if again, _ := Play(played, all()); again != played {
					t.Errorf("what was played is not what it expects:\n%s", diff(played, again))
				}
			}
		})
	}
}

// A cell sees two owners, whatever its scripts want: here they come of a cell whose nodes do not share one another's
// acceptors.
func TestTwoOwnersAreSeen(t *testing.T) {
	a, b := opened(t, "cell nodes=1"), opened(t, "cell nodes=2")
	for _, w := range []*cell{a, b} {
		if _, err := w.Do(parse("start 1")); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Do(parse("run to=2s")); err != nil {
			t.Fatal(err)
		}
	}
	b.nodes[1].proposer = a.nodes[0].proposer
	b.nodes[1].offset = a.nodes[0].offset
	if _, err := b.Do(parse("run to=2001ms")); err == nil || !strings.Contains(err.Error(), "both 1 and 2 own") {
		t.Fatalf("two owners went unseen: %v", err)
	}
}

// A cluster sees two masters, and an answer of a master without a lease.
func TestTwoMastersAreSeen(t *testing.T) {
	w := running(t)
	w.nodes[1].pub = w.nodes[0].pub
	w.nodes[1].offset = w.nodes[0].offset
	if _, err := w.Do(parse("want master=1")); err == nil || !strings.Contains(err.Error(), "both 1 and 2 are master") {
		t.Errorf("two masters went unseen: %v", err)
	}
	w = running(t)
	w.nodes[0].pub.Deadline = w.read(w.nodes[0])
	w.acknowledged(w.nodes[0], "x")
	if w.broken == nil {
		t.Error("a late answer went unseen")
	}
	w = running(t)
	if _, err := w.nodes[2].state.Apply(w.nodes[2].state.Applied()+1, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Do(parse("want settled=yes")); err == nil {
		t.Error("a state that differs went unseen")
	}
}

func running(t *testing.T) *cluster {
	t.Helper()
	s, err := openCluster(parse("cluster lease=30s"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Do(parse("run to=1s")); err != nil {
		t.Fatal(err)
	}
	return s.(*cluster)
}

// A panic of the code under test fails the script and leaves the rest to be played.
func TestPanicIsTold(t *testing.T) {
	stages := Stages{"broken": func(*Command) (Stage, error) { return broken{}, nil }}
	played, err := Play("broken\n\ndo\n\n# end\n", stages)
	if err == nil || !strings.Contains(err.Error(), "line 3, do: panic: it broke") || !strings.Contains(played, "# end") {
		t.Fatalf("got %v and:\n%s", err, played)
	}
}

type broken struct{}

func (broken) Do(*Command) ([]string, error) { panic("it broke") }

func opened(t *testing.T, line string) *cell {
	t.Helper()
	s, err := openCell(parse(line))
	if err != nil {
		t.Fatal(err)
	}
	return s.(*cell)
}

func TestUsageIsTold(t *testing.T) {
	if _, err := Play("cell\nlink 1 Z 5s\n", all()); !errors.Is(err, ErrUsage) {
		t.Fatalf("got %v", err)
	}
}

func TestDiff(t *testing.T) {
	if got, want := diff("a\nb\nc\nd", "a\nc\nx\nd"), "  a\n- b\n  c\n+ x\n  d\n"; got != want {
		t.Fatalf("got\n%swant\n%s", got, want)
	}
}

// diff shows b's lines against a's: those that are gone with -, those that came with +, and a few around them.
func diff(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	common := make([][]int, len(x)+1) // common[i][j] is the length of what x[i:] and y[j:] share, in order
	for i := range common {
		common[i] = make([]int, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if x[i] == y[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var lines []string
	for i, j := 0, 0; i < len(x) || j < len(y); {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			lines = append(lines, "  "+x[i])
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, "- "+x[i])
			i++
		default:
			lines = append(lines, "+ "+y[j])
			j++
		}
	}
	return around(lines, 3)
}

// around keeps the changed lines, and n before and after each.
func around(lines []string, n int) string {
	var out strings.Builder
	skipped := false
	for i, line := range lines {
		near := false
		for j := max(0, i-n); j < min(len(lines), i+n+1); j++ {
			near = near || lines[j][0] != ' '
		}
		if near {
			out.WriteString(line + "\n")
		} else if !skipped {
			out.WriteString("  ...\n")
		}
		skipped = !near
	}
	return out.String()
}
