package script

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
)

// Stage is what the commands of a script act on.
type Stage interface {
	// Do carries out one command and returns what there is to tell, line by line. It returns an error for a senseless
	// command, a want that does not hold or a broken rule, beside the lines so far.
	Do(c *Command) ([]string, error)
}

// Stages opens stages by the name of the command that asks for them.
type Stages map[string]func(c *Command) (Stage, error)

// Real are the stages on which the code of the store itself plays.
func Real() Stages {
	return Stages{"cell": openCell, "cluster": openCluster}
}

const dashes = "----"

// Play plays the script and returns it with the output that came in place of the output it expects. The error joins
// those of all commands that failed, each with its line.
func Play(text string, stages Stages) (string, error) {
	p := player{stages: stages}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); {
		if isText(lines[i]) {
			p.played = append(p.played, lines[i])
			i++
			continue
		}
		i = p.block(lines, i)
	}
	return strings.Join(p.played, "\n"), errors.Join(p.failures...)
}

func isText(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || strings.HasPrefix(line, "#")
}

type player struct {
	stages   Stages
	stage    Stage
	played   []string
	failures []error
}

// block plays the commands from line i on and steps over the output that is expected of them.
func (p *player) block(lines []string, i int) (next int) {
	var out []string
	for ; i < len(lines) && lines[i] != dashes && !isText(lines[i]); i++ {
		p.played = append(p.played, lines[i])
		told, err := p.command(lines[i])
		out = append(out, told...)
		if err != nil {
			p.failures = append(p.failures, fmt.Errorf("line %d, %s: %w", i+1, lines[i], err))
			first, _, _ := strings.Cut(err.Error(), "\n")
			out = append(out, "FAILED: "+first)
		}
	}
	if i < len(lines) && lines[i] == dashes {
		for i++; i < len(lines) && lines[i] != ""; i++ {
			continue
		}
	}
	if len(out) == 0 {
		out = []string{"ok"}
	}
	p.played = append(append(p.played, dashes), out...)
	return i
}

var errNoStage = errors.New("no stage is open: the first command names one")

// command carries out one line. A panic of the code under test is a failure like others, but ends the scene.
func (p *player) command(line string) (told []string, err error) {
	defer func() {
		if r := recover(); r != nil {
			p.stage, err = nil, fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	c := parse(line)
	if open, ok := p.stages[c.Name]; ok {
		s, err := open(c)
		p.stage = s
		if err = errors.Join(err, c.End()); err != nil {
			p.stage = nil
		}
		return nil, err
	}
	if p.stage == nil {
		return nil, errNoStage
	}
	return p.stage.Do(c)
}
