package wire

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/quorum"
)

func store(node ballot.NodeID) ident.StoreID { return ident.StoreID{0xaa, byte(node)} }

func someMembers(nodes ...ballot.NodeID) ident.Membership {
	m := ident.Membership{Number: 1}
	for _, n := range nodes {
		m.Members = append(m.Members, ident.Member{Node: n, Store: store(n)})
	}
	return m
}

// honest is what a sound node says of itself.
func honest(id ballot.NodeID) Hello {
	return Hello{Cluster: ident.ClusterID{0xcc}, Node: id, Store: store(id), ClientAddr: "127.0.0.1:8500",
		Incarnation: ballot.Incarnation{Restart: 1, Node: id, Nonce: 7}}
}

// dead is what the guardian of a node says.
func dead(id ballot.NodeID) Release {
	return Release{Cluster: ident.ClusterID{0xcc}, Store: store(id), Owner: honest(id).Incarnation,
		Counters: []uint64{3, 1 << 40}}
}

func handshakeSamples() []HandshakeMsg {
	list := []Address{{1, "a:1"}, {2, "b:2"}}
	return []HandshakeMsg{
		&HelloMsg{KindLease, 2, honest(1)}, &ReadyMsg{}, &RefuseMsg{ReasonStore, "text"},
		&AskMsg{1, 2, store(1), list}, &AnswerMsg{Node: 2, Store: store(2), List: list},
		&AnswerMsg{2, store(2), list, ident.ClusterID{1}, someMembers(1, 2), true},
		&FoundMsg{ident.ClusterID{1}, someMembers(1, 2)}, &FormedMsg{},
		&ReleaseMsg{2, dead(1)}, joining(), &JoinedMsg{Node: 2, Cluster: ident.ClusterID{1}, Membership: someMembers(1, 2)},
		&JoinedMsg{Ask: "c:3"},
	}
}

// joining is what a sound node says that wants to join.
func joining() *JoinMsg {
	return &JoinMsg{Operation: "join-1", Store: store(4), Name: "four", PeerAddr: "d:4", ClientAddr: "d:8500",
		Replace: "three", NonVoter: true, Spare: true, ReplaceAfter: time.Minute, Constants: Constants{LeaseTime: time.Second}}
}

func TestHandshakeRoundTrip(t *testing.T) {
	for _, m := range handshakeSamples() {
		got, err := DecodeHandshake(EncodeHandshake(m))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(m, got); d != "" {
			t.Error(d)
		}
	}
}

func TestHandshakesThatCannotBeTrustedAreMalformed(t *testing.T) {
	tall := someMembers(1, 2, 3, 4, 5, 6, 7, 8)
	twice := someMembers(2, 2)
	foreign := honest(1)
	foreign.Incarnation.Node = 2
	zero := honest(0)
	crowd, both, named := someMembers(1), someMembers(1, 2), someMembers(1)
	for n := range ballot.NodeID(ident.MaxNonVoters + 1) {
		crowd.NonVoters = append(crowd.NonVoters, ident.Member{Node: n + 2, Store: store(n + 2)})
	}
	both.NonVoters = []ident.Member{{Node: 2, Store: store(2)}}
	named.Members[0].Name = strings.Repeat("n", ident.MaxNameBytes+1)
	shown := someMembers(1)
	shown.Members[0].PeerAddr = "a:\x1b"
	command := someMembers(1) // an address that a shell would run, in a line that says what to type
	command.Members[0].PeerAddr = "$(id):1"
	commands := [3]Hello{honest(1), honest(1), honest(1)}
	commands[0].ClientAddr, commands[1].PeerAddr, commands[2].RedisAddr = "`id`:1", "$(id):1", "a;id:1"
	long := honest(1)
	long.ClientAddr = strings.Repeat("a", 300)
	for i, m := range []HandshakeMsg{
		&HelloMsg{Kind: KindNamed + 1, Hello: honest(1)}, &HelloMsg{Kind: KindLog, Hello: foreign},
		&HelloMsg{Kind: KindLog, Hello: zero}, &HelloMsg{Kind: KindLog, Hello: long},
		&AskMsg{From: 1, To: 2, List: []Address{{1, "a:1"}}}, &AskMsg{From: 1, Store: store(1)},
		&AskMsg{From: 1, Store: store(1), List: []Address{{2, "a"}, {1, "b"}}},
		&AskMsg{From: 1, Store: store(1), List: []Address{{1, "a\x1b"}}},
		&AnswerMsg{Node: 1, Store: store(1), List: []Address{{1, "a"}}, Cluster: ident.ClusterID{1}},
		&FoundMsg{Membership: someMembers(1)}, &FoundMsg{ident.ClusterID{1}, tall}, &FoundMsg{ident.ClusterID{1}, twice},
		&FoundMsg{ident.ClusterID{1}, crowd}, &FoundMsg{ident.ClusterID{1}, both}, &FoundMsg{ident.ClusterID{1}, named},
		&FoundMsg{ident.ClusterID{1}, shown}, &FoundMsg{ident.ClusterID{1}, command},
		&HelloMsg{Kind: KindLog, Hello: commands[0]}, &HelloMsg{Kind: KindLog, Hello: commands[1]},
		&HelloMsg{Kind: KindLog, Hello: commands[2]}, &JoinedMsg{Ask: "$(id):1"},
		&AskMsg{From: 1, Store: store(1), List: []Address{{1, "$(id):1"}}},
		&ReleaseMsg{To: 2, Release: Release{Owner: honest(1).Incarnation, Counters: []uint64{1}}},
		&ReleaseMsg{Release: dead(1)},
		&JoinedMsg{}, &JoinedMsg{Ask: "a\x1b"}, &JoinedMsg{Ask: strings.Repeat("a", 300)},
		&JoinedMsg{Node: 3, Cluster: ident.ClusterID{1}, Membership: someMembers(1, 2)}, &JoinedMsg{Node: 1, Membership: someMembers(1)},
		&JoinedMsg{Node: 1, Cluster: ident.ClusterID{1}, Membership: tall},
	} {
		if got, err := DecodeHandshake(EncodeHandshake(m)); !errors.Is(err, ErrHandshake) {
			t.Errorf("message %d: %+v, %v", i, got, err)
		}
	}
}

func TestJoinsThatCannotBeWorkedOnAreMalformed(t *testing.T) {
	for name, change := range map[string]func(*JoinMsg){
		"no operation":   func(m *JoinMsg) { m.Operation = "" },
		"long operation": func(m *JoinMsg) { m.Operation = strings.Repeat("o", MaxOperationBytes+1) },
		"no store":       func(m *JoinMsg) { m.Store = ident.StoreID{} },
		"name":           func(m *JoinMsg) { m.Name = "a\x1b[2J" },
		"long name":      func(m *JoinMsg) { m.Name = strings.Repeat("n", ident.MaxNameBytes+1) },
		"long replace":   func(m *JoinMsg) { m.Replace = strings.Repeat("n", ident.MaxNameBytes+1) },
		"no address":     func(m *JoinMsg) { m.PeerAddr = "" },
		"address":        func(m *JoinMsg) { m.PeerAddr = "a\n:1" },
		"a command":      func(m *JoinMsg) { m.PeerAddr = "$(id):1" },
		"a command too":  func(m *JoinMsg) { m.ClientAddr = "`id`:1" },
		"client address": func(m *JoinMsg) { m.ClientAddr = strings.Repeat("c", MaxAddrBytes+1) },
		"negative time":  func(m *JoinMsg) { m.ReplaceAfter = -1 },
	} {
		m := joining()
		change(m)
		if got, err := DecodeHandshake(EncodeHandshake(m)); !errors.Is(err, ErrHandshake) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestHostileTextIsMadePlain(t *testing.T) {
	m := EncodeHandshake(&RefuseMsg{Reason: ReasonNode, Text: "a\x1b[2J\nb\xff\u202e\u200b\u3164" + strings.Repeat("x", 2*MaxTextBytes)})
	got, err := DecodeHandshake(m)
	if err != nil {
		t.Fatal(err)
	}
	if text := got.(*RefuseMsg).Text; !strings.HasPrefix(text, "a?[2J?b????x") || len(text) > MaxTextBytes {
		t.Fatalf("%d bytes: %.20q", len(text), text)
	}
}

// A message of another version is told from garbage, and a refusal is read whatever its version.
func TestOtherVersions(t *testing.T) {
	for _, m := range handshakeSamples() {
		body := EncodeHandshake(m)
		binary.BigEndian.PutUint16(body[len(magic)+1:], Version+1)
		got, err := DecodeHandshake(body)
		if _, refusal := m.(*RefuseMsg); refusal {
			if err != nil || cmp.Diff(m, got) != "" {
				t.Errorf("%+v became %+v, %v", m, got, err)
			}
			continue
		}
		var v *VersionError
		if !errors.As(err, &v) || v.Theirs != Version+1 {
			t.Errorf("%T of another version: %v", m, err)
		}
	}
}

// longest returns the longest address, whose host consists of labels of one letter.
func longest(letter string) string {
	return strings.Repeat(letter+".", MaxAddrBytes/2-3) + letter + ":65535"
}

// largest is the longest membership that nodes may have.
func largest() ident.Membership {
	m := ident.Membership{Number: 1 << 62, Change: 1 << 62, Era: 1 << 31}
	for n := range ballot.NodeID(quorum.MaxVoters + ident.MaxNonVoters) {
		x := ident.Member{Node: ballot.MaxNodeID - 100 + n, Store: store(n + 1), Name: strings.Repeat("n", ident.MaxNameBytes),
			PeerAddr: longest("p"), ClientAddr: longest("c")}
		if n < quorum.MaxVoters {
			m.Members = append(m.Members, x)
		} else {
			m.NonVoters = append(m.NonVoters, x)
		}
	}
	return m
}

func TestTheLargestMembershipFits(t *testing.T) {
	m := largest()
	answer := &AnswerMsg{Node: m.Members[0].Node, Store: store(1), Cluster: ident.ClusterID{1}, Membership: m}
	for _, x := range m.Members {
		answer.List = append(answer.List, Address{x.Node, x.PeerAddr})
	}
	body := EncodeHandshake(answer)
	if got, err := DecodeHandshake(body); err != nil || cmp.Diff(HandshakeMsg(answer), got) != "" || len(body) > MaxHandshakeBytes {
		t.Fatalf("%d bytes, %v: %+v", len(body), err, got)
	}
}
