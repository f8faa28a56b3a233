package wire

import (
	"encoding/hex"
	"reflect"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/codec"
	"tenure/internal/ident"
)

// TestHandshakesOfBeforeMembersCouldBeChanged decodes what a node sends that knows of no names, addresses and non-voters
// of members.
func TestHandshakesOfBeforeMembersCouldBeChanged(t *testing.T) {
	members := ident.Membership{Number: 1, Members: []ident.Member{{Node: 1, Store: ident.StoreID{1}},
		{Node: 2, Store: ident.StoreID{2}}}}
	run := ballot.Incarnation{Restart: 300, Node: 2, Nonce: 1<<63 + 5}
	hello := Hello{Cluster: ident.ClusterID{1, 2, 255}, Node: 2, Store: ident.StoreID{3, 4}, Incarnation: run,
		Constants: Constants{LeaseTime: 7 * time.Second, MaxLeaseTime: 3 * time.Minute, DriftPPM: 10_000,
			Margin: 5 * time.Millisecond},
		ClientAddr: "127.0.0.1:8500", Marks: Marks{Promised: ballot.New(9, run), Accepted: 70000}}
	for old, want := range map[string]HandshakeMsg{
		"544e555201000493010197c4100102ff0000000000000000000000000002c4100304000000000000000000000000000093cd012c02cf80" +
			"0000000000000594d300000001a13b8600d300000029e8d60800d12710d2004c4b40ae3132372e302e302e313a38353030929409cd" +
			"012c02cf8000000000000005ce00011170": &HelloMsg{KindLease, 1, hello},
		"544e55520500049602c41008000000000000000000000000000000929201a3613a319202a3623a32c41001000000000000000000" +
			"0000000000009201929201c410010000000000000000000000000000009202c41002000000000000000000000000000000c3": &AnswerMsg{
			2, ident.StoreID{8}, []Address{{1, "a:1"}, {2, "b:2"}}, ident.ClusterID{1}, members, true},
		"544e555206000492c410010000000000000000000000000000009201929201c410010000000000000000000000000000009202c4" +
			"1002000000000000000000000000000000": &FoundMsg{ident.ClusterID{1}, members},
	} {
		body, err := hex.DecodeString(old)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeHandshake(body)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("decoded %+v and %v, want %+v", got, err, want)
		}
	}
}

// TestOldNodesReadHellos decodes a Hello of now as a version does whose structs end before Membership.
func TestOldNodesReadHellos(t *testing.T) {
	now := honest(1)
	now.Membership, now.Change, now.RedisAddr, now.PeerAddr = 7, 9, "127.0.0.1:6379", "127.0.0.1:8300"
	var old struct {
		Kind  Kind
		To    ballot.NodeID
		Hello struct {
			Cluster     ident.ClusterID
			Node        ballot.NodeID
			Store       ident.StoreID
			Incarnation ballot.Incarnation
			Constants   Constants
			ClientAddr  string
			Marks       Marks
		}
	}
	if err := codec.Unmarshal(EncodeHandshake(&HelloMsg{KindLog, 2, now})[handshakeBytes:], &old); err != nil {
		t.Fatal(err)
	}
	if h := old.Hello; h.Cluster != now.Cluster || h.Node != 1 || h.Store != now.Store || h.Marks != now.Marks ||
		h.ClientAddr != now.ClientAddr {
		t.Errorf("decoded %+v of %+v", h, now)
	}
}

// TestOldNodesReadJoins decodes a JoinMsg of now as a release does whose struct ends before Cluster.
func TestOldNodesReadJoins(t *testing.T) {
	now := JoinMsg{Operation: "join-1", Store: ident.StoreID{9}, Name: "three", PeerAddr: "c:3", ReplaceAfter: time.Minute,
		Level: 1, Cluster: ident.ClusterID{1}}
	var old struct {
		Operation       string
		Store           ident.StoreID
		Name            string
		PeerAddr        string
		ClientAddr      string
		Replace         string
		NonVoter, Spare bool
		ReplaceAfter    time.Duration
		Constants       Constants
		Level           uint64
	}
	body := EncodeHandshake(&now)[handshakeBytes:]
	if err := codec.Unmarshal(body, &old); err != nil || old.Store != now.Store || old.Level != 1 || old.Name != "three" {
		t.Errorf("decoded %+v of %+v: %v", old, now, err)
	}
	var back JoinMsg
	if err := codec.Unmarshal(codec.Marshal(&old), &back); err != nil || back.Store != now.Store || !back.Cluster.IsZero() {
		t.Errorf("decoded %+v of an old message: %v", back, err)
	}
}
