// Package completion completes command lines in shells. It does not use the scripts of package cobra: these have the
// shell evaluate what is typed and what a program offers. Anybody may have put a name with $( ) or backquotes into a
// store, and it would run a command when somebody presses TAB. The scripts here evaluate nothing. They pass on what is
// typed to the program, which takes it apart by itself, and offer names in the shell's own quoting only.
//
//	completion.go            the command that prints the scripts, and what the scripts ask
//	bash.go                  lines and names as bash has them
//	completion.bash, …       the scripts
package completion

import (
	"bytes"
	"context"
	_ "embed" // the scripts
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tenure/internal/shown"
)

// Request is the first argument with which the scripts call their program:
//
//	PROGRAM Request bash TYPE TYPED LINE
//	PROGRAM Request zsh|fish WORD... CURRENT
//
// TYPE is $COMP_TYPE, TYPED the end of LINE that is to be replaced, and LINE everything up to the cursor. WORDs are the
// words behind the program's name, and CURRENT is the one at the cursor, all without quotes. The answer is a line of
// options, then a line for each candidate. The option nospace keeps spaces from names that end with a slash, and nofiles
// says that names of files are no candidates. For zsh and fish a tab and a description follow a name that has one.
const Request = "__candidates"

// Candidate is a word that may stand at the cursor, and what to say about it.
type Candidate struct{ Name, About string }

// Answer is what a program offers.
type Answer struct {
	Candidates       []Candidate
	NoSpace, NoFiles bool
}

// scripts are those of all shells, and how to load each.
var scripts = []struct{ shell, text, install string }{
	{"bash", bashScript, "source <(PROGRAM completion bash)"},
	{"zsh", zshScript, "source <(PROGRAM completion zsh)   # behind: autoload -U compinit; compinit"},
	{"fish", fishScript, "PROGRAM completion fish | source"},
}

var (
	//go:embed completion.bash
	bashScript string
	//go:embed completion.zsh
	zshScript string
	//go:embed completion.fish
	fishScript string
)

// Command returns the command that prints the scripts of a program to out.
func Command(program string, out io.Writer) *cobra.Command {
	all := &cobra.Command{
		Use:   "completion",
		Short: "Print the script that completes " + program + " in a shell",
		Long: "Print the script with which a shell completes commands, flags and names of " + program + ". Names with\n" +
			"control characters or invisible ones are not offered.",
	}
	for _, s := range scripts {
		all.AddCommand(&cobra.Command{
			Use:   s.shell,
			Short: "Print the script for " + s.shell,
			Long: "Print the script for " + s.shell + ". For this shell alone:\n\n  " +
				strings.ReplaceAll(s.install, "PROGRAM", program),
			Args:              cobra.NoArgs,
			ValidArgsFunction: cobra.NoFileCompletions,
			RunE: func(*cobra.Command, []string) error {
				_, err := io.WriteString(out, strings.ReplaceAll(s.text, "PROGRAM", program))
				return err
			},
		})
	}
	return all
}

// Run answers a script: args are those behind Request. ask returns what may stand at the cursor behind words.
func Run(args, environ []string, out io.Writer, ask func(words []string, current string) Answer) {
	if len(args) < 2 {
		return
	}
	var lines []string
	var a Answer
	switch shell, rest := args[0], args[1:]; shell {
	case "bash":
		a, lines = runBash(rest, environ, ask)
	case "zsh", "fish":
		a = ask(expanded(rest[:len(rest)-1], environ), rest[len(rest)-1])
		for _, c := range a.Candidates {
			if shell == "fish" && c.Name[0] == '~' { // fish quotes every other character
				continue
			}
			lines = append(lines, c.Name)
			if c.About != "" {
				lines[len(lines)-1] += "\t" + shown.Line(c.About)
			}
		}
	}
	var options []string
	if a.NoSpace {
		options = append(options, "nospace")
	}
	if a.NoFiles {
		options = append(options, "nofiles")
	}
	_, _ = io.WriteString(out, strings.Join(append([]string{strings.Join(options, " ")}, lines...), "\n")+"\n")
}

// listCandidates is the COMP_TYPE with which readline asks for a list to show.
const listCandidates = "63"

func runBash(args, environ []string, ask func(words []string, current string) Answer) (Answer, []string) {
	if len(args) != 3 {
		return Answer{}, nil
	}
	kind, typed, text := args[0], args[1], args[2]
	l, ok := readLine(text)
	if !ok || len(l.words) == 0 {
		return Answer{}, nil
	}
	a := ask(expanded(l.words[1:], environ), l.current)
	open := func(c Candidate) bool { return strings.HasSuffix(c.Name, "/") }
	a.NoSpace = a.NoSpace && slices.ContainsFunc(a.Candidates, open)
	lines := l.forBash(a.Candidates, typed)
	if kind == listCandidates && len(lines) > 1 {
		return a, listed(a.Candidates)
	}
	return a, lines
}

// Names returns the names among found that can be offered behind words: no shell has those with control characters in
// its line, and what begins with a dash is taken for a flag unless -- stands before it.
func Names(found []Candidate, words []string) (out []Candidate) {
	dashed := slices.Contains(words, "--")
	for _, c := range found {
		if c.Name != "" && shown.Plain(c.Name) && (dashed || c.Name[0] != '-') {
			out = append(out, c)
		}
	}
	return out
}

// expanded returns words with the variables of environ and the home directory in the place of $NAME, ${NAME} and ~/.
// A shell would do the same and more. An endpoint or a file of a token may be given so.
func expanded(words, environ []string) []string {
	variable := func(name string) string {
		for _, e := range environ {
			if value, ok := strings.CutPrefix(e, name+"="); ok {
				return value
			}
		}
		return ""
	}
	out := slices.Clone(words)
	for i, w := range out {
		if rest, ok := strings.CutPrefix(w, "~/"); ok {
			w = "$HOME/" + rest
		}
		out[i] = os.Expand(w, variable)
	}
	return out
}

// Of returns what a command itself offers, without names of its own making: commands and flags.
func Of(ctx context.Context, root *cobra.Command, words []string, current string) Answer {
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(io.Discard)
	root.SetArgs(append(append([]string{cobra.ShellCompRequestCmd}, words...), current))
	if err := root.ExecuteContext(ctx); err != nil {
		return Answer{}
	}
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	bits, err := strconv.Atoi(strings.TrimPrefix(lines[len(lines)-1], ":"))
	if d := cobra.ShellCompDirective(bits); err != nil || d&cobra.ShellCompDirectiveError != 0 {
		return Answer{}
	}
	a := Answer{
		NoSpace: cobra.ShellCompDirective(bits)&cobra.ShellCompDirectiveNoSpace != 0,
		NoFiles: cobra.ShellCompDirective(bits)&cobra.ShellCompDirectiveNoFileComp != 0,
	}
	for _, l := range lines[:len(lines)-1] {
		name, about, _ := strings.Cut(l, "\t")
		a.Candidates = append(a.Candidates, Candidate{name, about})
	}
	return a
}
