package sim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tenure/kv"
	"tenure/server/replica"
)

// pipelinePlan is what those do who send sequences, as clients of the Redis protocol do.
type pipelinePlan struct {
	count int
	think time.Duration
	most  int // steps of a sequence
	keyed int
}

// drawPipeliners draws from a stream of its own, as drawGuardian does. The cluster is at the feature level that sequences
// need once its master has raised it. An upload would take away what they have written.
func (p *plan) drawPipeliners(c Config) {
	r := stream(c.Seed, 65)
	if p.uploads.count > 0 || !r.chance(600) {
		return
	}
	p.pipeliners = pipelinePlan{count: 1 + r.below(3), think: r.skewed(time.Millisecond, 60*time.Millisecond),
		most: 1 + r.below(6), keyed: pick(&r, 0, 500, 900)}
	p.part.Level = replica.LevelConfig{Newest: kv.NewestLevel, Release: "sim"}
	if c.Clients > 0 {
		p.pipeliners.count = min(p.pipeliners.count, c.Clients)
	}
}

// pipeliners send sequences that read a list, append words to it one by one, and read it again, with other steps in between.
// What they share is how long the lists are known to be: sequences are atomic, take effect at most once, and lists only
// grow.
type pipeliners struct {
	*access
	lists   [2]*grownList
	refused map[string]bool // sequences that were certainly not applied, by the name in their words; never ranged over
	asked   int             // sequences that somebody waits for, or asks for again
}

// grownList is a list that all append to. Once it is long, a new one takes its place.
type grownList struct {
	name string
	seen string // the longest that anybody was told
}

const longList = 600 // bytes

func newPipeliners(x *access) *pipeliners {
	p := &pipeliners{access: x, refused: map[string]bool{}}
	for i := range p.lists {
		p.lists[i] = &grownList{name: fmt.Sprintf("q%d.0", i)}
	}
	return p
}

// start makes the pipeliners of the plan.
func (x *pipeliners) start() {
	for i := range x.plan.pipeliners.count {
		p := &pipeliner{all: x, caller: caller{access: x.access, id: 600 + i, random: x.stream(9000 + uint64(i))}}
		p.took = p.tookAnswer
		p.via = x.anyNode(&p.random)
		p.restThen(x.plan.pipeliners.think, p.next)
	}
}

// pick draws a list, or begins a new one.
func (x *pipeliners) pick(r *random, serial int) *grownList {
	l := &x.lists[r.below(len(x.lists))]
	if len((*l).seen) > longList {
		*l = &grownList{name: fmt.Sprintf("%s.%d", (*l).name[:2], serial)}
	}
	return *l
}

// pipeliner sends one sequence after the other.
type pipeliner struct {
	caller
	all     *pipeliners
	list    *grownList
	before  string // what was known of the list when the sequence was sent
	serial  int
	retries int
	unknown bool  // a copy of this sequence may have been applied
	counted int64 // what its own counter was told to be
}

// word begins the words of the sequence; its number of words and their numbers follow.
func (p *pipeliner) word() string { return fmt.Sprintf("%d.%d", p.id, p.serial) }

func (p *pipeliner) next() {
	r := &p.random
	if r.chance(300) {
		p.via = p.anyNode(r)
	}
	p.all.asked++
	p.serial, p.retries, p.unknown = p.serial+1, 0, false
	p.list = p.all.pick(r, p.id*1_000_000+p.serial)
	p.before = p.list.seen
	p.command = kv.Command{Op: kv.OpSequence, Parts: p.steps(r)}
	if r.chance(p.plan.pipeliners.keyed) {
		p.command.IdemKey, p.command.Base = "q"+p.word(), p.newest
	}
	p.ask()
}

// steps draws the steps.
func (p *pipeliner) steps(r *random) (steps []kv.Command) {
	list, other := p.list.name, fmt.Sprintf("e%d", r.below(3))
	switch r.below(8) {
	case 0:
		steps = append(steps, kv.Command{Op: kv.OpCheckUnchanged, Key: list, HasIndex: true, Index: p.newest})
	case 1:
		steps = append(steps, kv.Command{Op: kv.OpCheckNotExists, Key: other})
	}
	steps = append(steps, kv.Command{Op: kv.OpFetch, Key: list})
	words := 1 + r.below(p.plan.pipeliners.most)
	for i := range words {
		word := fmt.Appendf(nil, "%s/%d/%d ", p.word(), words, i)
		steps = append(steps, kv.Command{Op: kv.OpAppend, Key: list, Value: word})
		switch r.below(8) {
		case 0:
			steps = append(steps, kv.Command{Op: kv.OpMeasure, Key: list})
		case 1:
			steps = append(steps, kv.Command{Op: kv.OpAdd, Mode: kv.ModeCreate, Key: fmt.Sprintf("n%d", p.id), Num: 1})
		case 2:
			steps = append(steps, kv.Command{Op: kv.OpSet, Key: other, Value: word,
				TTL: r.skewed(p.plan.lockers.short, 8*p.plan.lockers.short)})
		case 3:
			steps = append(steps, kv.Command{Op: kv.OpSetTTL, Key: other, TTL: p.plan.lockers.short * time.Duration(r.below(3))})
		case 4:
			steps = append(steps, kv.Command{Op: kv.OpDelete, Key: other, Mode: kv.ModeReturn})
		case 5:
			steps = append(steps, kv.Command{Op: kv.OpAdd, Key: list, Num: 1}) // fails alone: it is no number
		}
	}
	return append(steps, kv.Command{Op: kv.OpFetch, Key: list})
}

func (p *pipeliner) ask() { p.try(p.begin(write, p.list.name), p.plan.clients.timeout) }

// tookAnswer takes the answer to an attempt: a keyed one of which nothing is known is asked for again.
func (p *pipeliner) tookAnswer(ans *answer) {
	p.unknown = p.unknown || ans.outcome == replica.Unknown
	switch {
	case ans.outcome == replica.Done:
		p.newest = max(p.newest, ans.result.Revision)
		p.check(&ans.result)
	case p.command.IdemKey != "" && p.retries < 3:
		p.retries++
		p.via = p.anyNode(&p.random)
		p.at(nil, kindClient, p.random.skewed(100*time.Microsecond, 20*time.Millisecond), p.ask)
		return
	case !p.unknown:
		p.all.refused[p.word()] = true
	}
	p.all.asked--
	p.restThen(p.plan.pipeliners.think, p.next)
}

// check checks the results of the steps against each other and against what was known.
func (p *pipeliner) check(r *kv.Result) {
	switch r.Code {
	case kv.CodeDone:
	case kv.CodeKeyTooOld: // an earlier copy may have been applied
		return
	case kv.CodeLevel: // that is never remembered: an earlier copy may be applied when the level has been raised
		p.all.refused[p.word()] = !p.unknown
		return
	case kv.CodeCondition:
		p.all.refused[p.word()] = true
		return
	default:
		p.failed("the sequence came to %q", r.Code)
	}
	p.counts.Sequences++
	if r.Dropped { // it was applied before, and its results were too many to be remembered
		return
	}
	steps, list, first := kv.StepsOf(r), "", true
	for i := range p.command.Parts {
		c := &p.command.Parts[i]
		if c.Op == kv.OpCheckUnchanged || c.Op == kv.OpCheckNotExists {
			continue
		}
		s, err := steps.Next()
		if err != nil {
			p.failed("%v", err)
		}
		if c.Op == kv.OpFetch && first {
			first, list = false, s.Body
			p.all.known(p, list)
		}
		list = p.step(c, &s, list)
	}
	p.all.known(p, list)
}

// step checks the result of a step, before which the list is as given, and returns the list after it.
func (p *pipeliner) step(c *kv.Command, r *kv.Result, list string) string {
	ok := r.Code == kv.CodeDone
	switch {
	case c.Op == kv.OpAppend:
		list += string(c.Value)
		ok = ok && r.Count == 1+uint64(len(list))
	case c.Op == kv.OpFetch:
		ok = ok && r.Body == list
	case c.Op == kv.OpMeasure:
		ok = ok && r.Count == 1+uint64(len(list))
	case c.Op == kv.OpSetTTL:
		ok = ok || r.Code == kv.CodeMissing
	case c.Op == kv.OpAdd && c.Key == p.list.name:
		ok = r.Code == kv.CodeNotNumber
	case c.Op == kv.OpAdd: // the counter is its own
		n, err := strconv.ParseInt(r.Body, 10, 64)
		ok = ok && err == nil && n > p.counted
		p.counted = n
	}
	if !ok {
		p.failed("a step %d of %q came to %q, count %d, %q, where the list was %q", c.Op, c.Key, r.Code, r.Count, r.Body, list)
	}
	return list
}

func (p *pipeliner) failed(format string, args ...any) {
	p.fail("sequences", "client %d, sequence %s: %s", p.id, p.word(), fmt.Sprintf(format, args...))
}

// known checks a list that a client was told: it continues the list known before, and holds each sequence once, whole
// and in order.
func (x *pipeliners) known(p *pipeliner, list string) {
	if !strings.HasPrefix(list, p.before) {
		p.failed("%s is %q, and was %q before", p.list.name, list, p.before)
	}
	if !strings.HasPrefix(list, p.list.seen) && !strings.HasPrefix(p.list.seen, list) {
		p.failed("%s is %q, and somebody else saw %q", p.list.name, list, p.list.seen)
	}
	seen := map[string]bool{}
	for words := strings.Fields(list); len(words) > 0; {
		name, size, _ := strings.Cut(words[0], "/")
		n, _ := strconv.Atoi(size[:strings.IndexByte(size, '/')])
		for i := range n {
			if i >= len(words) || words[i] != fmt.Sprintf("%s/%d/%d", name, n, i) {
				p.failed("sequence %s is in %s in part, or not in order: %q", name, p.list.name, list)
			}
		}
		if seen[name] || x.refused[name] {
			p.failed("sequence %s is in %s twice, or although it was refused: %q", name, p.list.name, list)
		}
		seen[name], words = true, words[n:]
	}
	if len(list) > len(p.list.seen) {
		p.list.seen = list
	}
}

// idle reports whether all that was asked for has come to something.
func (x *pipeliners) idle() bool { return x.asked == 0 }

// mustBeThere checks at the end that every member has all that clients were told, except a node that must stay behind:
// see undecided.
func (x *pipeliners) mustBeThere() {
	for _, n := range x.nodes {
		if x.plan.on(Differ) && n.up() && n.log.log.Status(n.reading()).Behind {
			continue
		}
		for _, l := range x.lists {
			if !n.up() || !n.takesPart() || l.seen == "" {
				continue
			}
			if e, _, err := n.log.state.Get(l.name); err != nil || !strings.HasPrefix(string(e.Value), l.seen) {
				x.fail("sequences", "node %d has %q in %s at the end (%v), and %q was told", n.id, e.Value, l.name, err, l.seen)
			}
		}
	}
}
