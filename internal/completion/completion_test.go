package completion

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// No script has its shell evaluate anything.
func TestScriptsEvaluateNothing(t *testing.T) {
	evaluates := regexp.MustCompile(`\beval\b|\bcompgen\b|\b_describe\b|\$\{\(e|\$\{!|\bsource /dev/stdin`)
	for _, s := range scripts {
		var out bytes.Buffer
		cmd := Command("prog", &out)
		cmd.SetArgs([]string{s.shell})
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		if m := evaluates.FindString(out.String()); m != "" || strings.Contains(out.String(), "PROGRAM") ||
			!strings.Contains(out.String(), "prog "+Request+" "+s.shell) && !strings.Contains(out.String(), Request+" "+s.shell) {
			t.Errorf("%s has %q:\n%s", s.shell, m, out.String())
		}
	}
}

func tool() *cobra.Command {
	root := &cobra.Command{Use: "tool"}
	get := &cobra.Command{Use: "get", Short: "Print a value", Run: func(*cobra.Command, []string) {},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"one\tthe first", "two"}, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}}
	get.Flags().Bool("stale", false, "read what is there")
	root.AddCommand(get, &cobra.Command{Use: "set", Run: func(*cobra.Command, []string) {}})
	return root
}

func answered(args ...string) string {
	var out bytes.Buffer
	Run(args, nil, &out, func(words []string, current string) Answer { return Of(tool().Context(), tool(), words, current) })
	return out.String()
}

func TestRun(t *testing.T) {
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"zsh", "get", ""}, "nospace nofiles\none\tthe first\ntwo\n"},
		{[]string{"fish", "get", "--st"}, "nofiles\n--stale\tread what is there\n"},
		{[]string{"bash", "9", "", "tool get "}, "nofiles\none\ntwo\n"},
		{[]string{"bash", "63", "", "tool get "}, "nofiles\none  (the first)\ntwo\n"},
		{[]string{"bash", "9", "tw", "tool get 'tw"}, "nofiles\ntwo'\n"},
		{[]string{"bash", "9", "ge", "tool ge"}, "nofiles\nget\n"},
		{[]string{"bash", "9", "x", "tool get tw"}, "nofiles\n"}, // the shell has another word in mind
		{[]string{"bash", "9", "", "tool get $(id) "}, "\n"},
		{[]string{"bash", "9", ""}, "\n"},
		{[]string{"tcsh", "x"}, "\n"},
		{nil, ""},
	} {
		if got := answered(x.args...); got != x.want {
			t.Errorf("%q: %q, want %q", x.args, got, x.want)
		}
	}
}

func TestNames(t *testing.T) {
	found := []Candidate{{"a b", ""}, {"a\nb", ""}, {"\u202ea", ""}, {"-a", ""}, {"", ""}, {"$(id)", "about"}}
	for _, x := range []struct {
		words []string
		want  []Candidate
	}{
		{nil, []Candidate{{"a b", ""}, {"$(id)", "about"}}},
		{[]string{"get", "--"}, []Candidate{{"a b", ""}, {"-a", ""}, {"$(id)", "about"}}},
	} {
		if got := Names(found, x.words); !slices.Equal(got, x.want) {
			t.Errorf("behind %q: %q", x.words, got)
		}
	}
}
