package backend

import (
	"testing"
	"time"

	"tenure/internal/ident"
	"tenure/server/transport"
)

// A node without a majority says so, with the reasons that it knows. One that has just lost a connection does not.
func TestCutOff(t *testing.T) {
	three := ident.Membership{Members: []ident.Member{{Node: 1}, {Node: 2}, {Node: 3}},
		NonVoters: []ident.Member{{Node: 4}}}
	never := transport.LinkState{LastHeard: -1}
	link := func(m ident.Member, s transport.LinkState, problem string) transport.PeerState {
		return transport.PeerState{Node: m.Node, Log: s, Problem: problem}
	}
	one, two := three.Members[0], three.Members[1]
	const unknown = "it does not connect, or is refused: see this node's log"
	for what, c := range map[string]struct {
		self  ident.Member
		m     ident.Membership
		links []transport.PeerState
		want  string
	}{
		"alone": {one, ident.Membership{Members: three.Members[:1]}, nil, ""},
		"nobody heard": {three.Members[2], three, []transport.PeerState{link(one, never, "refused"), link(two, never, "")},
			"this node hears no majority of the voters: node 1: refused; node 2: " + unknown},
		"one heard": {three.Members[2], three, []transport.PeerState{link(one, transport.LinkState{Connected: true}, "")}, ""},
		"one gone for a moment": {three.Members[2], three,
			[]transport.PeerState{link(one, transport.LinkState{LastHeard: time.Second}, "EOF")}, ""},
		"one gone": {three.Members[2], three, []transport.PeerState{link(one, transport.LinkState{LastHeard: cutOffAfter}, "EOF")},
			"this node hears no majority of the voters: node 1: EOF; node 2: " + unknown},
		"a non-voter that hears one": {three.NonVoters[0], three, []transport.PeerState{link(one, transport.LinkState{Connected: true}, "")},
			"this node hears no majority of the voters: node 2: " + unknown + "; node 3: " + unknown},
		"a non-voter that hears two": {three.NonVoters[0], three, []transport.PeerState{
			link(one, transport.LinkState{Connected: true}, ""), link(two, transport.LinkState{Connected: true}, "")}, ""},
	} {
		if got := cutOff(c.self.Node, c.m, c.links); got != c.want {
			t.Errorf("%s: %q", what, got)
		}
	}
}
