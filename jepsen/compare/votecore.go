package compare

import (
	"tenure/internal/ballot"
	"tenure/jepsen/compare/majority"
)

func voteCore(p Params) core {
	timing := p.timing()
	wait := must(timing.Quarantine())
	return core{
		name: "majority vote", restart: wait,
		boot: func(id ballot.NodeID, runs int, r readings) (contender, voter) {
			c := majority.AcceptorConfig{Self: id, Timing: timing}
			if runs > 0 {
				c.Silent = r.elapsed + wait
			}
			return &voteContender{must(majority.NewProposer(majority.ProposerConfig{
				Self: incarnation(id, runs), Duration: p.Lease, Voters: voterSet(), Timing: timing,
			}))}, &voteVoter{must(majority.NewAcceptor(c))}
		},
	}
}

type voteContender struct{ p *majority.Proposer }

func voteLetters(ms []majority.Message) []letter {
	return letters(ms, func(m majority.Message) (from, to ballot.NodeID) { return m.From, m.To })
}

func (c *voteContender) start(r readings) []letter { return voteLetters(c.p.Start(r.elapsed)) }

func (c *voteContender) take(r readings, l letter) []letter {
	c.p.Handle(r.elapsed, l.body.(majority.Message))
	return nil
}

func (c *voteContender) resend(r readings) []letter { return voteLetters(c.p.Resend(r.elapsed)) }

func (c *voteContender) leave(readings) []letter { return nil }

func (c *voteContender) owns(r readings) bool {
	_, owns := c.p.Held(r.elapsed)
	return owns
}

func (c *voteContender) standing(r readings) standing {
	until, owns := c.p.Held(r.elapsed)
	return standing{owns: owns, busy: c.p.Busy(), won: c.p.Last() == majority.EndWon, left: max(0, until-r.elapsed)}
}

type voteVoter struct{ a *majority.Acceptor }

func (v *voteVoter) take(r readings, l letter) (letter, bool) {
	m, ok := v.a.Handle(r.elapsed, l.body.(majority.Message))
	return letter{m.From, m.To, false, m}, ok
}
