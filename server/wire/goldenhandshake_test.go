package wire

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
)

// TestGoldenHandshake compares the bytes of the handshake, of keepalives and of frames with those that an earlier build
// of this Version sent.
func TestGoldenHandshake(t *testing.T) {
	run := ballot.Incarnation{Restart: 300, Node: 2, Nonce: 1<<63 + 5}
	hello := Hello{Cluster: ident.ClusterID{1, 2, 255}, Node: 2, Store: ident.StoreID{3, 4}, Incarnation: run,
		Constants: Constants{LeaseTime: 7 * time.Second, MaxLeaseTime: 3 * time.Minute, DriftPPM: 10_000,
			Margin: 5 * time.Millisecond},
		ClientAddr: "127.0.0.1:8500", Marks: Marks{Promised: ballot.New(9, run), Accepted: 70000}}
	list := []Address{{1, "a:1"}, {2, "b:2"}}
	members := ident.Membership{Number: 1, Members: []ident.Member{{Node: 1, Store: ident.StoreID{1}},
		{Node: 2, Store: ident.StoreID{2}}}}
	full := ident.Membership{Number: 3, Change: 300, Era: 70000,
		Members:   []ident.Member{{Node: 1, Store: ident.StoreID{1}, Name: "one", PeerAddr: "a:1", ClientAddr: "a:8500"}},
		NonVoters: []ident.Member{{Node: 2, Store: ident.StoreID{2}, PeerAddr: "b:2"}}}
	var all []golden
	for i, m := range []HandshakeMsg{
		&HelloMsg{KindLease, 1, hello}, &HelloMsg{KindLog, 1, hello}, &HelloMsg{KindNamed, 1, hello}, &ReadyMsg{},
		&RefuseMsg{ReasonStore, "text"}, &AskMsg{1, 2, ident.StoreID{7}, list},
		&AnswerMsg{Node: 2, Store: ident.StoreID{8}, List: list},
		&AnswerMsg{2, ident.StoreID{8}, list, ident.ClusterID{1}, members, true},
		&FoundMsg{ident.ClusterID{1}, members}, &FormedMsg{},
		&ReleaseMsg{1, Release{Cluster: ident.ClusterID{1}, Store: ident.StoreID{2}, Owner: run,
			Counters: []uint64{1, 70000}}},
		&JoinMsg{Operation: "join-1", Store: ident.StoreID{9}, Name: "three", PeerAddr: "c:3", ClientAddr: "c:8500",
			Replace: "two", NonVoter: true, Spare: true, ReplaceAfter: time.Minute, Constants: hello.Constants,
			Cluster: hello.Cluster},
		&JoinedMsg{Node: 2, Cluster: ident.ClusterID{1}, Membership: full}, &JoinedMsg{Ask: "a:1"},
	} {
		all = append(all, golden{fmt.Sprintf("handshake %d, type %d", i, m.handshakeType()), EncodeHandshake(m)})
	}
	for _, k := range Kinds {
		marks := &hello.Marks
		if k != KindLog {
			marks = nil
		}
		all = append(all, golden{fmt.Sprintf("keepalive on a %v connection", k), AppendKeepalive(nil, marks)})
	}
	for _, n := range []int{0, 5, 300, 5000} {
		f := AppendFrame(nil, bytes.Repeat([]byte{byte(n)}, n))
		all = append(all, golden{fmt.Sprintf("header of a frame of %d bytes", n), f[:FrameHeaderBytes]})
	}
	compareGolden(t, "testdata/handshake.txt", all)
}
