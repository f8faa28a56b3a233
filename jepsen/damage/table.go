package damage

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// Tell writes the counts of what came of the rounds, as tables in Markdown.
func (r *Report) Tell(w io.Writer) error {
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

// counts writes the outcomes of the rounds by what by returns, apart for those that were planted while the node ran.
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

// directory is the path of the data directory of a node of the campaign.
var directory = regexp.MustCompile(`/[^ "]*/node\d+`)

// said writes one line that a node ended with for each file.
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
