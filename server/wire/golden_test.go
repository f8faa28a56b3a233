package wire

import (
	"encoding/hex"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/lease"
	"tenure/lease/named"
	"tenure/multipaxos"
	"tenure/server/members"
	"tenure/server/replica"
	"tenure/server/replica/clocks"
	"tenure/server/replica/leases"
	"tenure/server/replica/snapshots"
)

// golden is a message as bytes, with a name that finds it in a file of testdata.
type golden struct {
	name string
	body []byte
}

// TestGoldenBodies compares the bytes of every kind of message with those that an earlier build of this Version sent:
// nodes of one Version understand each other.
func TestGoldenBodies(t *testing.T) {
	all := append(goldenLease(), goldenLog()...)
	all = append(all, goldenReplica()...)
	all = append(all, goldenNamed()...)
	compareGolden(t, "testdata/bodies.txt", all)
}

// compareGolden compares messages with the lines of a file, each the name of a message and its bytes in hexadecimal.
func compareGolden(t *testing.T, file string, all []golden) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, bytes, _ := strings.Cut(strings.TrimSpace(line), "\t")
		want[name] = bytes
	}
	for _, g := range all {
		got := hex.EncodeToString(g.body)
		if got != want[g.name] {
			t.Errorf("the bytes have changed, want %q; have\n%s\t%s", want[g.name], g.name, got)
		}
		delete(want, g.name)
	}
	for name := range want {
		t.Errorf("%s: no such message any more", name)
	}
}

// Before the field Agrees was added a stamp had three fields.
func TestOlderClockStampIsRead(t *testing.T) {
	body, err := hex.DecodeString("0f9303d200011170d30000010000000000")
	if err != nil {
		t.Fatal(err)
	}
	b, err := DecodeLease(body)
	want := clocks.Stamp{Sent: 3, Seen: 70000, At: 1 << 40}
	if err != nil || !reflect.DeepEqual(*b.Clock, want) {
		t.Errorf("%+v, %v", b.Clock, err)
	}
}

var (
	goldenRun    = ballot.Incarnation{Restart: 300, Node: 2, Nonce: 1<<63 + 5}
	goldenBallot = ballot.New(70000, goldenRun)
	goldenOther  = ballot.Ballot{Counter: 1, Restart: 2, Node: 3, Nonce: 4}
)

func goldenLease() []golden {
	out := []golden{{"clock stamp", EncodeClock(clocks.Stamp{Sent: 3, Seen: 70000, At: 1 << 40})},
		{"nudge", EncodeNudge(Nudge{Node: 3})}, {"nudge nobody", EncodeNudge(Nudge{})},
		{"health", EncodeHealth(&replica.Health{Able: true, GetsOn: true})},
		{"health fit", EncodeHealth(&replica.Health{Fit: true})}}
	for k := lease.KindPrepare; k <= lease.KindRelease; k++ {
		m := lease.Message{Kind: k, From: 2, To: 1, Resource: lease.MasterResource, Class: lease.ClassMaster,
			Ballot: goldenBallot}
		out = append(out, golden{fmt.Sprintf("lease %v", k), EncodeLease(&m)})
		m.Owner, m.Duration, m.Promised = goldenRun, 7*time.Second, goldenOther
		m.Live, m.LiveOwner, m.LiveBallot, m.LiveLeft = true, goldenRun, goldenOther, -time.Millisecond
		out = append(out, golden{fmt.Sprintf("lease %v, all fields", k), EncodeLease(&m)})
		m.Membership = 300
		out = append(out, golden{fmt.Sprintf("lease %v, membership", k), EncodeLease(&m)})
	}
	return out
}

func goldenLog() []golden {
	entries := []multipaxos.Entry{{Slot: 8, Ballot: goldenBallot, Value: []byte("first")},
		{Slot: 9, Ballot: goldenOther},
		{Slot: 1 << 40, Ballot: goldenBallot, Value: make([]byte, 300)}}
	many := make([]multipaxos.Entry, 20)
	for i := range many {
		many[i] = multipaxos.Entry{Slot: multipaxos.Slot(100 + i), Ballot: goldenOther, Value: []byte{byte(i)}}
	}
	var out []golden
	for i, m := range []multipaxos.Message{
		{Kind: multipaxos.KindPrepare, Ballot: goldenBallot, Slot: 5},
		{Kind: multipaxos.KindPromise, Ballot: goldenBallot, Slot: 5, Entries: entries, Last: true, Truncated: 4,
			Chosen: 7, Membership: 1},
		{Kind: multipaxos.KindPromise, Ballot: goldenBallot, Slot: 5, Entries: []multipaxos.Entry{}},
		{Kind: multipaxos.KindAccept, Ballot: goldenBallot, Entries: entries[:1], Chosen: 6},
		{Kind: multipaxos.KindAccept, Ballot: goldenBallot, Entries: many, Chosen: 6},
		{Kind: multipaxos.KindAccepted, Ballot: goldenBallot, Slot: 8, Through: 9},
		{Kind: multipaxos.KindReject, Ballot: goldenOther, Promised: goldenBallot},
		{Kind: multipaxos.KindMark, Ballot: goldenBallot, Chosen: 9, Through: 12},
		{Kind: multipaxos.KindMarkReply, Ballot: goldenBallot, Slot: 10},
		{Kind: multipaxos.KindFetch, Slot: 1 << 33},
		{Kind: multipaxos.KindLearn, Entries: entries, Chosen: 9},
		{Kind: multipaxos.KindConfirm, Ballot: goldenBallot, Round: 255},
		{Kind: multipaxos.KindConfirmed, Ballot: goldenBallot, Round: 256},
		{Kind: multipaxos.KindGone, Slot: 5, Truncated: 70000},
	} {
		m.From, m.To = 2, 1
		out = append(out, golden{fmt.Sprintf("log %d, kind %d", i, m.Kind), EncodeLog(&m)})
	}
	return out
}

func goldenReplica() []golden {
	var out []golden
	for i, m := range []replica.Message{
		{Kind: replica.KindHeartbeat},
		{Kind: replica.KindHeartbeat, Heartbeat: replica.Heartbeat{Master: true, Epoch: 9, Applied: 70000,
			LeaseLeft: 6 * time.Second, Space: replica.SpaceLow}},
		{Kind: replica.KindForward, Writes: []replica.Write{{ID: 5, Command: []byte("command"),
			Wait: 3 * time.Second},
			{ID: 1 << 50, Command: []byte("other"), Frees: true, Wait: -1}, {ID: 7}}},
		{Kind: replica.KindForwarded, Answers: []replica.ForwardedAnswer{{ID: 5, Outcome: replica.Done,
			Result: kv.Result{Code: 2, Revision: 300, Count: 1}},
			{ID: 6, Outcome: replica.Unknown, Reason: 4},
			{ID: 7, Outcome: replica.Refused, Reason: 3, Result: kv.Result{Dropped: true}}}},
		{Kind: replica.KindForwarded, Answers: []replica.ForwardedAnswer{{ID: 5, Result: kv.Result{Body: "a body"}},
			{ID: 6},
			{ID: 7, Result: kv.Result{Body: "z", Dropped: true}}}},
		{Kind: replica.KindReadPoint, Read: replica.ReadPoint{ID: 11, Consistent: true}},
		{Kind: replica.KindReadPointR, Read: replica.ReadPoint{ID: 11, Consistent: true, Granted: true, Slot: 1 << 20}},
		{Kind: replica.KindSnapshotAsk, Snapshot: &snapshots.Message{Above: 300, Pieces: 4}},
		{Kind: replica.KindSnapshotAsk, Snapshot: &snapshots.Message{ID: 1 << 63, Above: 300, Pieces: 4,
			After: []byte("position")}},
		{Kind: replica.KindSnapshotPiece, Snapshot: &snapshots.Message{ID: 1 << 63, After: []byte("position"),
			Next: []byte("next"), Header: []byte("header"), Piece: make([]byte, 300)}},
		{Kind: replica.KindSnapshotPiece, Snapshot: &snapshots.Message{Refused: snapshots.Busy}},
	} {
		m.From, m.To = 2, 1
		out = append(out, golden{fmt.Sprintf("replica %d, kind %d", i, m.Kind), EncodeReplica(&m)})
	}
	for _, h := range []replica.Heartbeat{{Membership: 1}, {Membership: 300, Excluding: time.Second},
		{Level: 1}} {
		m := replica.Message{Kind: replica.KindHeartbeat, From: 2, To: 1, Heartbeat: h}
		out = append(out, golden{fmt.Sprintf("heartbeat under membership %d", h.Membership), EncodeReplica(&m)})
	}
	m := replica.Message{Kind: replica.KindHeartbeat, From: 2, To: 1, Heartbeat: replica.Heartbeat{Membership: 1,
		DigestFormat: 1, Digests: []replica.Digest{{Slot: 1024, Sum: 1 << 63}, {Slot: 2048, Sum: 7}}}}
	out = append(out, golden{"heartbeat with digests", EncodeReplica(&m)})
	m.Heartbeat.Digests, m.Heartbeat.DigestFormat, m.Heartbeat.Silent = nil, 0, time.Second
	out = append(out, golden{"heartbeat of who is silent", EncodeReplica(&m)})
	for _, q := range []struct {
		kind QuestionKind
		body any
	}{{AskTransfer, &Transfer{To: 3}}, {AskRaise, &struct{}{}}, {AskMembers, someRequest()},
		{AskDrain, &Drain{Off: true, Force: true}}, {AskDrainState, &struct{}{}},
		{AskReport, &struct{}{}}} {
		out = append(out, golden{fmt.Sprintf("question %d", q.kind),
			EncodeQuestion(&Question{ID: 9, Kind: q.kind, Wait: time.Second, Body: EncodeBody(q.body)})})
	}
	for i, a := range []Answer{
		{Outcome: Done, Body: EncodeBody(&struct{}{})}, {Outcome: Done, Body: EncodeBody(someMembersAnswer())},
		{Outcome: Done, Body: EncodeBody(&DrainTold{State: DrainBegun})},
		{Outcome: Refused, Code: api.CodeMemberBusy, Text: "no"}, {Outcome: NotTaken, Master: 2, Text: "no"}, {Outcome: Unknown},
		{Outcome: Done, Body: EncodeBody(someReport())},
	} {
		a.ID = 9
		out = append(out, golden{fmt.Sprintf("answer %d", i), EncodeAnswer(&a)})
	}
	return append(out,
		golden{"archived", EncodeArchived(&Archived{Slot: 300, ReachedMS: 1_790_000_000_123,
			Full:     Copy{Slot: 7, Revision: 8, MadeMS: 9, WhenMS: 0},
			Verified: Copy{Slot: 1, Revision: 2, MadeMS: 3, WhenMS: 4}, Stored: 299})})
}

func someRequest() *members.Request {
	return &members.Request{Cancel: "op", DryRun: true, Op: members.Operation{ID: "op-1",
		Kind: members.Replace, Node: 3, Name: "node-3", Member: ident.Member{Node: 4, Store: ident.StoreID{9}, Name: "d",
			PeerAddr: "d:1", ClientAddr: "d:2"}, NonVoter: true, Unheard: true, Alive: 2}}
}

func someReport() *Report {
	return &Report{Version: "1.2", Draining: true, UptimeMS: 3, Disk: DiskUse{Log: 4, State: 5, Free: 6, Quota: 7},
		Tenures: []Tenure{{AtMS: 1_790_000_000_123, Event: api.TenureWon, Cause: "crashed", Detail: "won", Before: 2,
			OwnerlessMS: 8, HeldMS: 9}}}
}

func someMembersAnswer() *MembersAnswer {
	return &MembersAnswer{Record: []byte("r"), Plan: members.Plan{Steps: []string{"one"}}}
}

func goldenNamed() []golden {
	whole := someBatch()
	out := []golden{{"named batch", EncodeNamed(&whole)}}
	all := someBatch()
	for i := range all.Requests {
		b := leases.Batch{Requests: all.Requests[i : i+1]}
		out = append(out, golden{fmt.Sprintf("named %v %d", all.Requests[i].Kind, i), EncodeNamed(&b)})
	}
	for i := range all.Replies {
		b := leases.Batch{For: goldenRun, Replies: all.Replies[i : i+1]}
		out = append(out, golden{fmt.Sprintf("named %v %d", all.Replies[i].Kind, i), EncodeNamed(&b)})
	}
	changed := changedBatch()
	out = append(out, golden{"named batch, memberships", EncodeNamed(&changed)})
	past := leases.Batch{Replies: []named.Reply{{Kind: named.Silent, Counter: 1, Left: -1}}}
	return append(out, golden{"named Silent, over", EncodeNamed(&past)})
}
