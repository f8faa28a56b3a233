package explore

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Replayed is what came of a script.
type Replayed struct {
	Violation string // "" if nothing broke
	Steps     []Step // those taken
	Skipped   int    // lines that could not be: a message that was never sent, an attempt that is not open any more
}

// Replay plays a recorded trace against the core as it is now: "config NAME" and then a line an action, as
// Result.Script writes them; "#" begins a comment. What a sound core does not offer is skipped, so that the trace of a
// broken core can be played against any. The error is about the script.
func Replay(r io.Reader) (Replayed, error) {
	var out Replayed
	var p *player
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		line = strings.TrimSpace(line)
		name, isConfig := strings.CutPrefix(line, "config ")
		switch {
		case line == "":
		case isConfig && p == nil:
			c, err := parseLease(name)
			if err != nil {
				return out, fmt.Errorf("line %d: %w", n, err)
			}
			p = newPlayer(c)
		case p == nil:
			return out, fmt.Errorf("%w: line %d: an action before the configuration", ErrConfig, n)
		case p.known(line):
			if p.play(line, &out); out.Violation != "" {
				return out, nil
			}
		default:
			return out, fmt.Errorf("%w: line %d: no action is called %q", ErrConfig, n, line)
		}
	}
	return out, lines.Err()
}

// player is a script in the middle of being played.
type player struct {
	t  *teller
	x  *leaseExplorer
	at state
}

func newPlayer(c Config) *player {
	l := newLeaseModel(c)
	return &player{t: &teller{l}, x: l.explorer().(*leaseExplorer), at: l.start()}
}

// known reports whether a line begins like an action.
func (p *player) known(line string) bool {
	verb, _, _ := strings.Cut(line, " ")
	return strings.Contains(" tick start abandon release resend restart guardian deliver reply ", " "+verb+" ")
}

func (p *player) play(line string, out *Replayed) {
	before, found := p.at, false
	var by action
	p.x.expand(&before, func(next *state, a action) {
		if !found && p.t.say(&before, a) == line {
			p.at, by, found = *next, a, true
		}
	})
	if !found {
		out.Skipped++
		return
	}
	out.Steps = append(out.Steps, Step{line, p.t.tell(&before, &p.at, by)})
	out.Violation = p.x.broken(&p.at)
}
