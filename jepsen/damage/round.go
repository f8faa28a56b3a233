package damage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"tenure/jepsen/cluster"
)

// Outcome is the effect of a fault.
type Outcome int

// The outcomes. In the first two the node ran and every answer was right.
const (
	Unused  Outcome = iota // the file still has the fault: no bytes in use were hit
	Mended                 // the node has rewritten the damaged bytes
	Refused                // the node did not start, and named the file
	Ended                  // the node ended while it ran, and named the file
	Left                   // the node has dropped a received snapshot and reported it: others would send it again
	Dropped                // the last commits of the journal were dropped as incomplete: Fault.CutOff
	outcomes
)

func (o Outcome) String() string {
	return [...]string{"nothing in use", "written anew", "refused at start", "ended while running",
		"not installed, by name", "dropped as cut off"}[o]
}

// Round is one fault and its outcome.
type Round struct {
	Fault
	Running bool // whether it was planted while the node ran
	Outcome Outcome
	Right   int    // number of right answers
	Said    string // the last line of the node
}

const (
	grace       = 10 * time.Second
	fewWrites   = 30
	fewBytes    = 1000
	heavyWrites = 160 // of largeBytes: more than a checkpoint
	heavyEvery  = 6
)

// player plays one round on a template.
type player struct {
	t      *template
	r      *rand.Rand
	client *client
	state  state
	round  *Round
	from   int64 // size of the node's log file at its last start
}

// play plays a round. It returns an error if a promise was broken or the round could not be played.
func (t *template) play(ctx context.Context, r *rand.Rand, f Fault, running bool) (Round, error) {
	p := &player{t: t, r: r, client: newClient(t.node), round: &Round{Fault: f, Running: running},
		state: state{want: maps.Clone(t.want), maybe: map[string]string{}}}
	defer p.client.close()
	err := t.restore()
	if err == nil {
		err = p.play(ctx)
	}
	if t.node.Running() {
		err = errors.Join(err, t.node.Kill())
	}
	if err != nil {
		err = fmt.Errorf("%s, %s (while it runs: %v): %w", f.File, f.What, running, err)
	}
	return *p.round, err
}

func (p *player) play(ctx context.Context) error {
	if !p.round.Running {
		if err := p.round.plant(p.t.node.Data); err != nil {
			return err
		}
	}
	ended, err := p.start(ctx)
	if err != nil || ended {
		return err
	}
	if p.round.Running {
		if err := p.round.plant(p.t.node.Data); err != nil {
			return err
		}
	}
	if err := p.use(ctx); err != nil {
		return err
	}
	if err := p.stop(); err != nil {
		return err
	}
	if ended, err := p.start(ctx); err != nil || ended {
		return err
	}
	if err := p.ask(ctx); err != nil {
		return err
	}
	if p.round.Outcome == Ended || p.round.Outcome == Left {
		return p.stop()
	}
	return p.compare()
}

// start starts the node and reports whether the node has refused to start.
func (p *player) start(ctx context.Context) (refused bool, err error) {
	p.from = p.t.node.LogSize()
	if err := p.t.node.Start(); err != nil {
		return false, err
	}
	up, err := p.client.answers(ctx, p.t.node, p.t.applied, p.left)
	if err != nil || up {
		return false, err
	}
	outcome := Refused
	if p.round.Outcome == Ended {
		outcome = Ended
	}
	return true, p.named(outcome)
}

// left reports whether the node has logged that it drops the damaged snapshot.
func (p *player) left() bool {
	if p.state.older {
		return true
	}
	for line := range strings.SplitSeq(p.t.node.LogFrom(p.from), "\n") {
		if strings.Contains(line, receivedName) && strings.Contains(line, "was dropped") {
			p.state.older, p.round.Outcome, p.round.Said = true, Left, line
			return true
		}
	}
	return false
}

// use reads everything, writes, and reads everything again, as long as the node runs.
func (p *player) use(ctx context.Context) error {
	if err := p.ask(ctx); err != nil {
		return err
	}
	if !p.t.alone {
		return nil
	}
	n, bytes := fewWrites, fewBytes
	if p.r.IntN(heavyEvery) == 0 {
		n, bytes = heavyWrites, largeBytes
	}
	for i := range n {
		if !p.t.node.Running() {
			break
		}
		key, value := fmt.Sprintf("new/%04d", i), text(i, bytes)
		if i%5 == 4 { // into the middle of what is there
			key = fmt.Sprintf("small/%04d", p.r.IntN(smallKeys))
		}
		if err := p.client.put(ctx, key, value); err != nil {
			p.state.maybe[key] = value
			continue
		}
		p.state.want[key] = value
		delete(p.state.maybe, key)
	}
	return p.ask(ctx)
}

func (p *player) ask(ctx context.Context) error {
	if !p.t.node.Running() {
		return nil
	}
	right, wrong := p.client.ask(ctx, p.r, &p.state)
	p.round.Right += right
	if wrong != nil && p.round.CutOff {
		p.round.Outcome = Dropped
		return nil
	}
	if wrong != nil {
		return fmt.Errorf("WRONG ANSWER: %w", wrong)
	}
	return nil
}

// stop kills or terminates the node, unless it has ended.
func (p *player) stop() error {
	if !p.t.node.Running() {
		return p.named(Ended)
	}
	if p.r.IntN(2) == 0 {
		if err := p.t.node.Kill(); err == nil {
			return nil
		}
		return p.named(Ended) // it has ended by itself just now
	}
	if err := p.t.node.Terminate(grace); err != nil {
		if p.t.node.Running() {
			return err
		}
		return p.named(Ended)
	}
	return nil
}

// crashed matches the output of a Go program that crashes.
var crashed = regexp.MustCompile(`(?m)^(panic:|fatal error:|unexpected fault|SIG[A-Z]+:|goroutine \d+ )`)

// partners are files that a node cannot tell apart as the damaged one: a page and its checksum do not match.
var partners = map[string][]string{
	"state.sums":          {"state.db"},
	"state.db":            {"state.sums"},
	"state.sums.received": {"state.db.received", "state.sums", "state.db"},
	"state.db.received":   {"state.sums.received", "state.sums", "state.db"},
}

// named checks that the last words of the ended node name the damaged file, and records the outcome.
func (p *player) named(o Outcome) error {
	said := p.t.node.LogFrom(p.from)
	if crashed.MatchString(said) {
		return fmt.Errorf("CRASH: %.4000s", said)
	}
	last := cluster.LastWords(said)
	if last == "" {
		return fmt.Errorf("ENDED WITHOUT A LINE: %.2000s", said)
	}
	for _, name := range append([]string{p.round.File}, partners[p.round.File]...) {
		if strings.Contains(last, filepath.Join(p.t.node.Data, name)+":") || strings.Contains(last, "/"+name) {
			p.round.Outcome, p.round.Said = o, last
			return nil
		}
	}
	return fmt.Errorf("ENDED AND DID NOT NAME THE FILE: %.2000s", last)
}

// compare sets the outcome by whether the file still has the fault.
func (p *player) compare() error {
	if p.round.Outcome != Unused {
		return nil
	}
	is, err := os.ReadFile(filepath.Join(p.t.node.Data, p.round.File))
	switch {
	case errors.Is(err, os.ErrNotExist):
		p.round.Outcome = Mended // it was no longer needed
		return nil
	case err != nil:
		return err
	}
	p.round.Outcome = Mended
	if p.round.planted(is) {
		p.round.Outcome = Unused
	}
	return nil
}
