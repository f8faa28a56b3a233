package wire

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenure/internal/ballot"
	"tenure/internal/ident"
)

func store(node ballot.NodeID) ident.StoreID { return ident.StoreID{0xaa, byte(node)} }

func members(nodes ...ballot.NodeID) ident.Membership {
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
		&AnswerMsg{2, store(2), list, ident.ClusterID{1}, members(1, 2), true},
		&FoundMsg{ident.ClusterID{1}, members(1, 2)}, &FormedMsg{},
		&ReleaseMsg{2, dead(1)},
	}
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
	tall := members(1, 2, 3, 4, 5, 6, 7, 8)
	twice := members(2, 2)
	foreign := honest(1)
	foreign.Incarnation.Node = 2
	zero := honest(0)
	long := honest(1)
	long.ClientAddr = strings.Repeat("a", 300)
	for i, m := range []HandshakeMsg{
		&HelloMsg{Kind: KindNamed + 1, Hello: honest(1)}, &HelloMsg{Kind: KindLog, Hello: foreign},
		&HelloMsg{Kind: KindLog, Hello: zero}, &HelloMsg{Kind: KindLog, Hello: long},
		&AskMsg{From: 1, To: 2, List: []Address{{1, "a:1"}}}, &AskMsg{From: 1, Store: store(1)},
		&AskMsg{From: 1, Store: store(1), List: []Address{{2, "a"}, {1, "b"}}},
		&AskMsg{From: 1, Store: store(1), List: []Address{{1, "a\x1b"}}},
		&AnswerMsg{Node: 1, Store: store(1), List: []Address{{1, "a"}}, Cluster: ident.ClusterID{1}},
		&FoundMsg{Membership: members(1)}, &FoundMsg{ident.ClusterID{1}, tall}, &FoundMsg{ident.ClusterID{1}, twice},
		&ReleaseMsg{To: 2, Release: Release{Owner: honest(1).Incarnation, Counters: []uint64{1}}},
		&ReleaseMsg{Release: dead(1)},
	} {
		if got, err := DecodeHandshake(EncodeHandshake(m)); !errors.Is(err, ErrHandshake) {
			t.Errorf("message %d: %+v, %v", i, got, err)
		}
	}
}

func TestHostileTextIsMadePlain(t *testing.T) {
	m := EncodeHandshake(&RefuseMsg{Reason: ReasonNode, Text: "a\x1b[2J\nb\xff" + strings.Repeat("x", 2*MaxTextBytes)})
	got, err := DecodeHandshake(m)
	if err != nil {
		t.Fatal(err)
	}
	if text := got.(*RefuseMsg).Text; !strings.HasPrefix(text, "a?[2J?b?x") || len(text) > MaxTextBytes {
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
