package compare

import (
	"time"

	"tenure/internal/ballot"
	"tenure/jepsen/compare/flease"
)

func fleaseCore(p Params) core {
	return core{
		name: "Flease", restart: p.flease(1).RestartWait(), renews: true,
		boot: func(id ballot.NodeID, runs int, r readings) (contender, voter) {
			c := p.flease(id)
			if runs > 0 {
				c.Silent = r.wall + c.RestartWait()
			}
			return &fleaseContender{must(flease.NewProposer(c))}, &fleaseVoter{must(flease.NewAcceptor(c))}
		},
	}
}

type fleaseContender struct{ p *flease.Proposer }

func fleaseLetters(ms []flease.Message) []letter {
	return letters(ms, func(m flease.Message) (from, to ballot.NodeID) { return m.From, m.To })
}

func (c *fleaseContender) start(r readings) []letter { return fleaseLetters(c.p.Start(r.wall)) }

func (c *fleaseContender) take(r readings, l letter) []letter {
	return fleaseLetters(c.p.Handle(r.wall, l.body.(flease.Message)))
}

func (c *fleaseContender) resend(r readings) []letter { return fleaseLetters(c.p.Resend(r.wall)) }

func (c *fleaseContender) leave(readings) []letter { return nil }

func (c *fleaseContender) owns(r readings) bool {
	_, owns := c.p.Held(r.wall)
	return owns
}

func (c *fleaseContender) standing(r readings) standing {
	a := c.p.Attempt()
	h, owns := c.p.Held(r.wall)
	return standing{
		owns: owns, busy: a.Phase != flease.PhaseNone, won: a.Last == flease.EndWon,
		left: max(0, h.Until-r.wall), renewIn: max(0, c.p.RenewAt()-r.wall),
	}
}

type fleaseVoter struct{ a *flease.Acceptor }

func (v *fleaseVoter) take(r readings, l letter) (letter, bool) {
	m, ok := v.a.Handle(r.wall, l.body.(flease.Message))
	return letter{m.From, m.To, false, m}, ok
}

// wallBase keeps wall clocks above zero whatever steps they make.
const wallBase = 1000 * time.Hour
