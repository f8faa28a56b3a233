package damage

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// Write writes the number of rounds by outcome as tables in Markdown.
func (r *Report) Write(w io.Writer) error {
	t, rounds := &table{w: w}, r.Rounds
	running, right := 0, 0
	for i := range rounds {
		if rounds[i].Running {
			running++
		}
		right += rounds[i].Right
	}
	t.line("%d faults, %d of them planted while the node ran; %d right answers; **%d broken promises**.", len(rounds),
		running, right, len(r.Broken))
	for _, err := range r.Broken {
		t.line("\n- %.500s", strings.ReplaceAll(err.Error(), "\n", " "))
	}
	t.line("")
	t.counts(rounds, "fault", func(r *Round) string { return r.Kind.String() })
	t.counts(rounds, "file", func(r *Round) string { return "`" + r.File + "`" })
	t.said(rounds)
	return t.err
}

// table writes lines until one fails.
type table struct {
	w   io.Writer
	err error
}

func (t *table) line(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format+"\n", args...)
	}
}

// counts writes a table of the outcomes, with two rows for each result of by: faults planted while the node was
// stopped, and while it ran.
func (t *table) counts(rounds []Round, title string, by func(*Round) string) {
	type row struct {
		name    string
		running bool
	}
	found := map[row]*[outcomes]int{}
	var rows []row
	for i := range rounds {
		k := row{by(&rounds[i]), rounds[i].Running}
		if found[k] == nil {
			found[k] = new([outcomes]int)
			rows = append(rows, k)
		}
		found[k][rounds[i].Outcome]++
	}
	slices.SortFunc(rows, func(a, b row) int {
		if a.name != b.name {
			return strings.Compare(a.name, b.name)
		}
		return strings.Compare(fmt.Sprint(a.running), fmt.Sprint(b.running))
	})
	head, rule := "| "+title+" | planted | rounds |", "|---|---|--:|"
	for o := range outcomes {
		head, rule = head+" "+o.String()+" |", rule+"--:|"
	}
	t.line("%s\n%s", head, rule)
	for _, k := range rows {
		when := "while it was stopped"
		if k.running {
			when = "while it ran"
		}
		total, cells := 0, ""
		for _, n := range found[k] {
			total += n
			cells += fmt.Sprintf(" %d |", n)
		}
		t.line("| %s | %s | %d |%s", k.name, when, total, cells)
	}
	t.line("")
}

// directory matches the path of a node's data directory.
var directory = regexp.MustCompile(`/[^ "]*/node\d+`)

// said writes for each file one last line of a node.
func (t *table) said(rounds []Round) {
	t.line("What nodes said, one line for each file, without what to do:")
	t.line("")
	seen := map[string]bool{}
	sorted := slices.Clone(rounds)
	slices.SortStableFunc(sorted, func(a, b Round) int { return strings.Compare(a.File, b.File) })
	for i := range sorted {
		r := &sorted[i]
		if r.Said == "" || seen[r.File] {
			continue
		}
		seen[r.File] = true
		said, advice, _ := strings.Cut(directory.ReplaceAllString(r.Said, "DIR"), "; take this node out of service")
		if advice != "" {
			said += "; …"
		}
		t.line("- `%s`, %s: `%s`", r.File, r.What, said)
	}
}
