package runner

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/server/replica/leases"
	"tenure/server/wire"
)

// askedMembers notes who has asked about members.
type askedMembers struct {
	MemberQuestions
	by []ballot.NodeID
}

func (a *askedMembers) Asked(from ballot.NodeID, _ wire.MembersAsk) { a.by = append(a.by, from) }

// Member requests and lease messages of a stranger reach no runner. A runner that got one would panic here.
func TestStrangersReachNobody(t *testing.T) {
	asked := &askedMembers{}
	p := NewPeers(PeersConfig{Self: 1, Log: newLoneLog(t), Members: asked, Registry: prometheus.NewRegistry(),
		Logger: zerolog.Nop()})
	const stranger = 7
	p.LogFrame(stranger, ballot.Incarnation{}, wire.EncodeMembersAsk(&wire.MembersAsk{ID: 1, Cancel: "op"}), false)
	p.LeaseFrame(stranger, ballot.Incarnation{}, wire.EncodeNudge(wire.Nudge{Node: 1}))
	p.NamedFrame(stranger, ballot.Incarnation{}, wire.EncodeNamed(&leases.Batch{To: 1}), false)
	if len(asked.by) > 0 {
		t.Fatalf("asked by %v", asked.by)
	}
}
