package docs

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

const planted = "# One title\n\nSee [a](b.md#c), `code [x](y.md)` and\n[two](#one-title).\n\n" +
	"```\n$ bin/prog get --all KEY | prog put -      # prog lost\nprog: failed\n```\n\n" +
	"## It's `one`: a, b_c\n\n| a | b |\n|---|---|\n| `x\\|y` | `go run ./cmd/prog get` |\n\n# One title\n"

func texts(ts []Text) []string {
	var out []string
	for _, t := range ts {
		out = append(out, t.Text)
	}
	return out
}

func TestPage(t *testing.T) {
	p := newPage("x.md", planted)
	for _, c := range []struct {
		what      string
		got, want []string
	}{
		{"links", texts(p.Links()), []string{"b.md#c", "#one-title"}},
		{"code", texts(p.Code()), []string{"code [x](y.md)", "one", "x|y", "go run ./cmd/prog get"}},
		{"commands", texts(Commands([]*Page{p}, "prog")), []string{"get --all KEY | prog put -", "put -", "get"}},
		{"table", slices.Concat(p.Table("It's `one`: a, b_c")...), []string{"`x|y`", "`go run ./cmd/prog get`"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
		}
	}
	for _, a := range []string{"one-title", "one-title-1", "its-one-a-b_c"} {
		if !p.Anchors()[a] {
			t.Errorf("no anchor %s", a)
		}
	}
	if l := p.Links()[1]; l.At() != "x.md:3" {
		t.Errorf("the second link is at %s", l.At())
	}
}

func TestCheck(t *testing.T) {
	run := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "prog", Args: cobra.NoArgs, Run: run}
	root.PersistentFlags().String("at", "", "")
	get := &cobra.Command{Use: "get KEY", Aliases: []string{"g"}, Args: cobra.ExactArgs(1), Run: run}
	get.Flags().Bool("all", false, "")
	group := &cobra.Command{Use: "group", Run: run}
	group.AddCommand(&cobra.Command{Use: "one", Run: run}, &cobra.Command{Use: "two", Run: run})
	root.AddCommand(get, group)
	for _, c := range []struct{ words, want string }{
		{"get KEY", ""},
		{"g --all anything at all", ""},
		{"--at one get --all=false", ""},
		{"get KEY -- sh --none", ""},
		{"get [--all]", ""},
		{"group one|two", ""},
		{"COMMAND", ""},
		{"lost", "prog has no command lost"},
		{"get --none", "prog get has no flag --none"},
		{"group --all", "prog group has no flag --all"},
		{"group one|three", "prog group has no command three"},
		{"--at get lost", "prog has no command lost"},
	} {
		got := ""
		if err := Check(root, c.words); err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("prog %s: %q, want %q", c.words, got, c.want)
		}
	}
}
