package script

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenure/internal/ballot"
)

// Command is one line of a script: a name, then words and name=value options. A stage takes the words and options that
// it knows, and asks End whether anything was missing, malformed or left over. Until then a wrong one reads as a zero
// value.
type Command struct {
	Name    string
	words   []string
	options map[string]string
	wrong   []error
}

// ErrUsage is wrapped by errors about commands that make no sense.
var ErrUsage = errors.New("not a command of this stage")

func parse(line string) *Command {
	c := &Command{options: map[string]string{}}
	for i, f := range strings.Fields(line) {
		name, value, isOption := strings.Cut(f, "=")
		switch {
		case i == 0:
			c.Name = f
		case isOption:
			c.options[name] = value
		default:
			c.words = append(c.words, f)
		}
	}
	return c
}

func (c *Command) bad(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Errorf("%w: %s", ErrUsage, fmt.Sprintf(format, args...)))
}

// Word takes the next word; what tells what it is for.
func (c *Command) Word(what string) string {
	if len(c.words) == 0 {
		c.bad("%s is missing", what)
		return ""
	}
	w := c.words[0]
	c.words = c.words[1:]
	return w
}

// More reports whether words are left.
func (c *Command) More() bool { return len(c.words) > 0 }

// Text takes an option, or preset if it is not there.
func (c *Command) Text(name, preset string) string {
	v, ok := c.options[name]
	if !ok {
		return preset
	}
	delete(c.options, name)
	return v
}

// Number takes an option of digits.
func (c *Command) Number(name string, preset int64) int64 {
	n, err := strconv.ParseInt(c.Text(name, strconv.FormatInt(preset, 10)), 10, 64)
	if err != nil {
		c.bad("%s: %v", name, err)
	}
	return n
}

// Time takes an option like 500ms. Times are whole milliseconds, as they are told.
func (c *Command) Time(name string, preset time.Duration) time.Duration {
	d, err := time.ParseDuration(c.Text(name, preset.String()))
	if err != nil || d < 0 || d%time.Millisecond != 0 {
		c.bad("%s is not a time in whole milliseconds", name)
	}
	return d
}

// Node takes the next word as a node's number, 1 to n. It is 1 if the word is wrong.
func (c *Command) Node(n int) ballot.NodeID {
	return c.node(c.Word("a node"), n)
}

func (c *Command) node(word string, n int) ballot.NodeID {
	i, err := strconv.Atoi(word)
	if err != nil || i < 1 || i > n {
		c.bad("%q is not a node, 1 to %d", word, n)
		return 1
	}
	return ballot.NodeID(i)
}

// End is what was wrong with the command.
func (c *Command) End() error {
	for _, w := range c.words {
		c.bad("%q is left over", w)
	}
	for _, name := range slices.Sorted(maps.Keys(c.options)) {
		c.bad("%s=%s is left over", name, c.options[name])
	}
	c.words, c.options = nil, nil
	return errors.Join(c.wrong...)
}
