package blocks

import (
	"fmt"
	"regexp"
	"strings"
)

// Block is a command block of a page, or one of another language that has marks.
type Block struct {
	Line  int // of its first line of text, from 1
	Lines []string
	Marks
}

// Marks is what the comments above a block say.
type Marks struct {
	NotRun    string // the reason
	Run       []string
	Terminals *regexp.Regexp
	Loose     bool
	File      string
	Prints    string
}

// Step is one command and what the page shows of it.
type Step struct {
	Line    int
	Command string
	Shown   []string // the output; nil if the page shows none
	Hidden  bool     // the command stands in a comment
}

var fence = regexp.MustCompile("^( *)```(\\w*)$")

// Parse returns the blocks of a page in order.
func Parse(text string) ([]Block, error) {
	var out []Block
	lines := strings.Split(text, "\n")
	var marks Marks
	for i := 0; i < len(lines); i++ {
		if strings.HasPrefix(strings.TrimSpace(lines[i]), "<!--") {
			end := i
			for end < len(lines) && !strings.HasSuffix(lines[end], "-->") {
				end++
			}
			if end == len(lines) {
				return nil, fmt.Errorf("line %d: the comment has no end", i+1)
			}
			if err := marks.add(strings.Join(lines[i:end+1], "\n")); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			i = end
			continue
		}
		m := fence.FindStringSubmatch(lines[i])
		if m == nil {
			if marks.forBlock() {
				return nil, fmt.Errorf("line %d: a comment for a block stands above something else", i+1)
			}
			if len(marks.Run) > 0 {
				out = append(out, Block{Line: i + 1, Marks: marks})
			}
			marks = Marks{}
			continue
		}
		b := Block{Line: i + 2, Marks: marks}
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; i++ {
			b.Lines = append(b.Lines, strings.TrimPrefix(lines[i], m[1]))
		}
		if i == len(lines) {
			return nil, fmt.Errorf("line %d: the block has no end", b.Line-1)
		}
		if m[2] == "" || m[2] == "sh" || marks.forBlock() {
			out = append(out, b)
		}
		marks = Marks{}
	}
	return out, nil
}

// forBlock reports whether a block must follow.
func (m *Marks) forBlock() bool {
	return m.NotRun != "" || m.Terminals != nil || m.Loose || m.File != "" || m.Prints != ""
}

func (m *Marks) add(comment string) error {
	text := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(comment), "<!--"), "-->"))
	name, value, _ := strings.Cut(text, ":")
	value = strings.TrimSpace(value)
	if name != "terminals" && (name != "loose") == (value == "") {
		return fmt.Errorf("unknown comment %q: doc.go of internal/docs/blocks lists them", text)
	}
	switch name {
	case "not run":
		m.NotRun = value
	case "run":
		m.Run = append(m.Run, value)
	case "terminals":
		pattern, err := regexp.Compile(value)
		if err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		m.Terminals = pattern
	case "loose":
		m.Loose = true
	case "file":
		m.File = value
	case "prints":
		m.Prints = value
	default:
		return fmt.Errorf("unknown comment %q: doc.go of internal/docs/blocks lists them", text)
	}
	return nil
}

// Steps returns the commands of the block, those of its comments first. The function whole tells a command from one
// that goes on in the next line.
func (b Block) Steps(whole func(string) bool) []Step {
	var out []Step
	for _, c := range b.Run {
		out = append(out, Step{Line: b.Line, Command: c, Hidden: true})
	}
	if b.File != "" {
		text := strings.Join(b.Lines, "\n")
		command := fmt.Sprintf("cat >|%s <<'END OF THE BLOCK'\n%s\nEND OF THE BLOCK", b.File, text)
		return append(out, Step{Line: b.Line, Command: command, Hidden: true})
	}
	if b.Prints != "" {
		return append(out, Step{Line: b.Line, Command: b.Prints, Shown: b.Lines, Hidden: true})
	}
	prompts := false
	for _, line := range b.Lines {
		prompts = prompts || strings.HasPrefix(line, "$ ")
	}
	open := false // the last step goes on
	for i, line := range b.Lines {
		last := len(out) - 1
		switch {
		case open:
			out[last].Command += "\n" + line
		case strings.HasPrefix(line, "$ ") || !prompts:
			out = append(out, Step{Line: b.Line + i, Command: strings.TrimPrefix(line, "$ ")})
			last++
		case last < 0 || out[last].Hidden:
			out = append(out, Step{Line: b.Line + i, Command: "false # output of no command"})
			continue
		default:
			out[last].Shown = append(out[last].Shown, line)
			continue
		}
		open = !whole(out[last].Command)
	}
	return out
}
