package script

import (
	"fmt"
	"time"
)

// naive is the majority vote of the paper's §1, which is safe and blocks: a proposer asks for the lease, an acceptor
// whose state is empty gives it for T and else refuses, a majority makes an owner. It is here to be seen blocking.
type naive struct {
	now      time.Duration
	duration time.Duration
	delay    [][]time.Duration
	voters   []vote
	askers   []asker
	network  network[ballotPaper]
	tell     teller
}

// vote is an acceptor's state: for whom, and until when.
type vote struct {
	of    int
	until time.Duration
}

// asker is a proposer; round tells its requests apart.
type asker struct {
	round, yes int
	until      time.Duration
	owner      bool
}

// ballotPaper is a request, or the answer to it.
type ballotPaper struct {
	asker, voter, round int
	answer, yes         bool
}

func openNaive(c *Command) (Stage, error) {
	n := int(c.Number("nodes", 3))
	v := &naive{duration: c.Time("lease", 5*time.Second), voters: make([]vote, n), askers: make([]asker, n)}
	message := c.Time("message", 500*time.Millisecond)
	v.delay, _ = links(n, message, c.Time("own", message))
	return v, nil
}

// Do knows start N, run to=T and want owner=N|none as a cell does.
func (v *naive) Do(c *Command) ([]string, error) {
	var err error
	switch c.Name {
	case "start":
		i := int(c.Node(len(v.askers))) - 1
		a := &v.askers[i]
		a.round, a.yes, a.owner, a.until = a.round+1, 0, false, v.now+v.duration
		v.tell.say(v.now, "%d asks, until %s", i+1, stamp(a.until))
		for j := range v.voters {
			v.network.post(v.now+v.delay[i][j], ballotPaper{asker: i, voter: j, round: a.round})
		}
	case "run":
		v.run(c.Time("to", v.now))
	case "want":
		if got, want := v.owner(), c.Text("owner", ""); got != want {
			err = fmt.Errorf("the owner is %s, not %s", got, want)
		}
	default:
		err = fmt.Errorf("%w: %s", ErrUsage, c.Name)
	}
	if err == nil {
		err = c.End()
	}
	return v.tell.take(), err
}

func (v *naive) run(to time.Duration) {
	for at, ok := v.network.next(); ok && at <= to; at, ok = v.network.next() {
		v.now = at
		p, _ := v.network.take(at)
		if p.answer {
			v.count(p)
		} else {
			v.vote(p)
		}
	}
	v.now = to
}

func (v *naive) vote(p ballotPaper) {
	s := &v.voters[p.voter]
	answer := "no"
	if v.now >= s.until {
		s.of, s.until = p.asker, v.now+v.duration
		p.yes, answer = true, "yes, until "+stamp(s.until)
	}
	v.tell.message(v.now, fmt.Sprint(p.asker+1), string(rune('A'+p.voter)), "Request: "+answer)
	p.answer = true
	v.network.post(v.now+v.delay[p.asker][p.voter], p)
}

func (v *naive) count(p ballotPaper) {
	a := &v.askers[p.asker]
	if p.yes && p.round == a.round && v.now < a.until {
		a.yes++
	}
	if !a.owner && a.yes > len(v.voters)/2 {
		a.owner = true
		v.tell.say(v.now, "%d owns until %s", p.asker+1, stamp(a.until))
	}
}

func (v *naive) owner() string {
	for i, a := range v.askers {
		if a.owner && v.now < a.until {
			return fmt.Sprint(i + 1)
		}
	}
	return "none"
}
