package runner

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/server/replica/leases"
	"tenure/server/wire"
)

// asked notes who has asked, and who has answered.
type asked struct{ by []ballot.NodeID }

func (a *asked) Asked(from ballot.NodeID, _ wire.Question)  { a.by = append(a.by, from) }
func (a *asked) Answered(from ballot.NodeID, _ wire.Answer) { a.by = append(a.by, from) }

// Questions, answers and lease messages of a stranger reach no runner. A runner that got one would panic here.
func TestStrangersReachNobody(t *testing.T) {
	asked := &asked{}
	p := NewPeers(PeersConfig{Self: 1, Log: newLoneLog(t), Questions: asked, Registry: prometheus.NewRegistry(),
		Logger: zerolog.Nop()})
	const stranger = 7
	p.LogFrame(stranger, ballot.Incarnation{}, wire.EncodeQuestion(&wire.Question{ID: 1, Kind: wire.AskRaise}), false)
	p.LogFrame(stranger, ballot.Incarnation{}, wire.EncodeAnswer(&wire.Answer{ID: 1}), false)
	p.LeaseFrame(stranger, ballot.Incarnation{}, wire.EncodeNudge(wire.Nudge{Node: 1}))
	p.NamedFrame(stranger, ballot.Incarnation{}, wire.EncodeNamed(&leases.Batch{To: 1}), false)
	if len(asked.by) > 0 {
		t.Fatalf("asked by %v", asked.by)
	}
}
