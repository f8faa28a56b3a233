package compare

import (
	"tenure/internal/ballot"
	"tenure/lease"
)

func leaseCore(p Params) core {
	timing := p.timing()
	wait := must(timing.Quarantine())
	return core{
		name: "PaxosLease", restart: wait, renews: true,
		boot: func(id ballot.NodeID, runs int, r readings) (contender, voter) {
			c := lease.AcceptorConfig{Self: id, Timing: timing}
			if runs > 0 {
				c.SilentUntil = r.elapsed + wait
			}
			a := must(lease.NewAcceptor(c))
			return &leaseContender{a: a, p: must(lease.NewProposer(lease.ProposerConfig{
				Self: incarnation(id, runs), Duration: p.Lease, Voters: voterSet(), Timing: timing,
			}))}, &leaseVoter{a}
		},
	}
}

func incarnation(id ballot.NodeID, runs int) ballot.Incarnation {
	return ballot.Incarnation{Restart: uint64(runs), Node: id, Nonce: 100 + uint64(runs)}
}

type leaseContender struct {
	p *lease.Proposer
	a *lease.Acceptor // of the same node; it has promised nothing if the node does not vote
}

func leaseLetters(ms []lease.Message) []letter {
	return letters(ms, func(m lease.Message) (from, to ballot.NodeID) { return m.From, m.To })
}

// start goes above what the own acceptor has promised, as the product does.
func (c *leaseContender) start(r readings) []letter {
	c.p.ContinueAbove(c.a.Promised())
	return leaseLetters(c.p.Start(r.elapsed))
}

func (c *leaseContender) take(r readings, l letter) []letter {
	return leaseLetters(c.p.Handle(r.elapsed, l.body.(lease.Message)))
}

func (c *leaseContender) resend(r readings) []letter { return leaseLetters(c.p.Resend(r.elapsed)) }

func (c *leaseContender) leave(r readings) []letter { return leaseLetters(c.p.Release(r.elapsed)) }

func (c *leaseContender) owns(r readings) bool {
	_, owns := c.p.Held(r.elapsed)
	return owns
}

func (c *leaseContender) standing(r readings) standing {
	a := c.p.Attempt()
	h, owns := c.p.Held(r.elapsed)
	return standing{
		owns: owns, busy: a.Phase != lease.PhaseNone, won: a.Last.Reason == lease.EndWon,
		left: h.Deadline - r.elapsed, renewIn: c.p.RenewAt() - r.elapsed,
	}
}

type leaseVoter struct{ a *lease.Acceptor }

func (v *leaseVoter) take(r readings, l letter) (letter, bool) {
	m, ok := v.a.Handle(r.elapsed, l.body.(lease.Message))
	return letter{m.From, m.To, false, m}, ok
}
