package docs

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Commands returns the command lines of the program on the pages: what follows its name where it stands at the
// beginning of a span or block of code, or after a shell's punctuation.
func Commands(pages []*Page, program string) []Text {
	begin := regexp.MustCompile(`(?:^|[|;&($'"!]|\s)(?:bin/|\./|go run \./(?:cmd/)?)?` + program + `(\s+[^\s].*|$)`)
	var out []Text
	add := func(t Text) {
		line, _, _ := strings.Cut(t.Text, " # ") // a comment
		for {
			m := begin.FindStringSubmatchIndex(line)
			if m == nil {
				return
			}
			out = append(out, Text{t.Page, t.Line, strings.TrimSpace(line[m[2]:m[3]])})
			line = line[m[2]:m[3]]
		}
	}
	for _, p := range pages {
		for _, t := range p.Blocks() {
			add(t)
		}
		for _, t := range p.Code() {
			add(t)
		}
	}
	return out
}

// Check returns why the words after a program's name are none of its command lines, or nil. A word of several names
// with bars between them stands for each of them, as in "show|transfer".
func Check(root *cobra.Command, words string) error {
	at := []*cobra.Command{root}
	var flags []string
	skip := false
	for _, w := range strings.Fields(words) {
		w = strings.Trim(w, "[]'\"`,.:")
		if w == "--" || w == "#" || strings.ContainsAny(w, "|&;<>)") && !named(w) {
			break
		}
		switch {
		case skip:
			skip = false
		case strings.HasPrefix(w, "-") && w != "-": // which stands for standard input or output
			flags = append(flags, w)
			skip = takesValue(at[0], w)
		case at[0].HasAvailableSubCommands() && named(w):
			next, err := descend(at[0], w)
			if err != nil {
				return err
			}
			if next != nil {
				at = next
			}
		}
	}
	for _, c := range at {
		for _, f := range flags {
			if lookup(c, f) == nil {
				return fmt.Errorf("%s has no flag %s", c.CommandPath(), f)
			}
		}
	}
	return nil
}

var names = regexp.MustCompile(`^[a-z][a-z-]*(\|[a-z][a-z-]*)*$`)

func named(w string) bool { return names.MatchString(w) }

// descend returns the commands of the names, or nil if the command takes arguments of its own.
func descend(c *cobra.Command, list string) ([]*cobra.Command, error) {
	var out []*cobra.Command
	for _, name := range strings.Split(list, "|") {
		sub, _, err := c.Find([]string{name})
		if err != nil || sub == c {
			if name == "help" || name == "completion" || c.Args != nil && c.ValidateArgs([]string{name}) == nil {
				return nil, nil
			}
			return nil, fmt.Errorf("%s has no command %s", c.CommandPath(), name)
		}
		out = append(out, sub)
	}
	return out, nil
}

func lookup(c *cobra.Command, flag string) *pflag.Flag {
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
	for _, set := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags(), c.InheritedFlags()} {
		if f := set.Lookup(name); f != nil {
			return f
		}
		if len(name) == 1 && !strings.HasPrefix(flag, "--") {
			if f := set.ShorthandLookup(name); f != nil {
				return f
			}
		}
	}
	return nil
}

func takesValue(c *cobra.Command, flag string) bool {
	f := lookup(c, flag)
	return f != nil && f.NoOptDefVal == "" && !strings.Contains(flag, "=")
}
