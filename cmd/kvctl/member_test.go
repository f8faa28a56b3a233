package main

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/client/clienttest"
)

// editMember changes the list entry of a node.
func editMember(c *clienttest.Cluster, node uint64, edit func(*api.Member)) {
	c.EditMembers(func(l []api.Member) []api.Member {
		for i := range l {
			if l[i].Node == node {
				edit(&l[i])
			}
		}
		return l
	})
}

func nonVoter(m *api.Member) { m.Voter = false }

// expect runs a command line and checks its exit code and parts of what it writes.
func expect(t *testing.T, c *clienttest.Cluster, line string, code int, out, errOut string) outcome {
	t.Helper()
	o := kvctl(t, c, "", strings.Fields(line)...)
	if o.code != code || !strings.Contains(o.out, out) || !strings.Contains(o.errOut, errOut) {
		t.Errorf("%s: exit %d, want %d with %q and %q\n%s%s", line, o.code, code, out, errOut, o.out, o.errOut)
	}
	return o
}

func TestMemberList(t *testing.T) {
	c := start(t, 4)
	editMember(c, 1, func(m *api.Member) { m.PeerAddress, m.ClientAddress = "10.0.0.1:8300", "10.0.0.1:8500" })
	editMember(c, 3, func(m *api.Member) { m.Draining, m.Applied, m.Lag, m.LastHeardMS = true, 90, 10, 40 })
	editMember(c, 4, func(m *api.Member) {
		m.Voter, m.LastHeardMS = false, -1
		m.Snapshot = &api.SnapshotStatus{From: 2, Bytes: 1 << 20, TotalBytes: 4 << 20}
	})
	o := expect(t, c, "member list", 0, "\nnode 4 receives a copy of the state from node 2: 1.0 MiB of 4.0 MiB, 25 %\n", "")
	for i, want := range []string{
		"NODE NAME ROLE PEER CLIENT HEARD APPLIED LAG",
		"1 node-1 master 10.0.0.1:8300 10.0.0.1:8500 - 0 0",
		"2 node-2 voter 127.0.0.1:8301 ",
		"3 node-3 voter, draining 127.0.0.1:8302 ",
		"4 node-4 non-voter 127.0.0.1:8303 ",
	} {
		if got := strings.Join(strings.Fields(strings.Split(o.out, "\n")[i]), " "); !strings.HasPrefix(got, want) {
			t.Errorf("line %d: %s, want %s", i, got, want)
		}
	}
	if l := decode[client.MemberList](t, expect(t, c, "member ls --json", 0, "", "").out); len(l.Members) != 4 {
		t.Errorf("%+v", l)
	}
}

// A list for people has the last of the operations that have ended, and says how many are left out.
func TestEndedOperations(t *testing.T) {
	ended := client.MemberOperation{Kind: "drain", Node: 3, State: client.OperationDone}
	l := client.MemberList{Operations: slices.Repeat([]client.MemberOperation{ended}, endedShown)}
	l.Operations[0].ID = "oldest"
	if notes := endedNotes(l); len(notes) != endedShown || !strings.Contains(notes[0], "oldest") {
		t.Errorf("%q", notes)
	}
	l.Operations = append(l.Operations, ended, ended, client.MemberOperation{State: client.OperationRunning})
	notes := endedNotes(l)
	if len(notes) != endedShown+1 || notes[0] != "2 operations before these: see --json" {
		t.Errorf("%q", notes)
	}
}

// A change says what it does, shows its steps, and ends with its operation.
func TestMemberChanges(t *testing.T) {
	c := start(t, 5)
	c.LookTimes(2)
	editMember(c, 4, nonVoter)
	editMember(c, 5, nonVoter)
	expect(t, c, "member remove node-3 --dry-run", 0, "after:     2 voters, 2 alive: none of them may fail\n", "")
	if c.Begun() != 0 {
		t.Fatal("a dry run has begun an operation")
	}
	expect(t, c, "member remove node-3 --operation op-1", 0, "operation op-1, remove node 3: done\n",
		"after:     2 voters, 2 alive: none of them may fail\nkvctl: operation op-1, remove node 3\n"+
			"kvctl: it waits to be looked at\n")
	expect(t, c, "member remove node-3 --operation op-1", 0, "operation op-1, remove node 3: done\n", "") // again
	if o := expect(t, c, "member remove 2 --operation op-1", 1, "", "the operation id was used by another change"); strings.Contains(o.out, "done") {
		t.Errorf("another node under the same id: %s", o.out)
	}
	expect(t, c, "member promote 4", 0, ": done\n", "")
	expect(t, c, "member replace 2 --by node-5", 0, "replace node 2 by node 5: done\n", "")
	expect(t, c, "member update 1 --name first --json", 0, `"kind":"update","node":1,"state":"done"`, "")
	if c.Begun() != 4 || len(c.Members()) != 3 {
		t.Errorf("%d operations, members %+v", c.Begun(), c.Members())
	}
}

// The names of removed members are listed, and an operator's word makes one free again, once.
func TestMemberReadmit(t *testing.T) {
	c := start(t, 3)
	if o := expect(t, c, "member list", 0, "", ""); strings.Contains(o.out, "removed") {
		t.Errorf("nobody was removed: %s", o.out)
	}
	if o := expect(t, c, "member remove node-3", 0, ": done\n", ""); strings.Contains(o.errOut, "certificate") {
		t.Errorf("there is no TLS: %s", o.errOut)
	}
	expect(t, c, "member list", 0, "\nremoved: node-3\n", "")
	expect(t, c, "member list --json", 0, `"removed":["node-3"]`, "")
	expect(t, c, "member readmit node-9", 1, "", `no removed member is named "node-9"`)
	expect(t, c, "member readmit", 2, "", "kvctl member readmit NAME")
	expect(t, c, "member readmit node-3 --dry-run", 0, "after:     2 voters, 2 alive", "")
	if c.Begun() != 1 {
		t.Error("a dry run has begun an operation")
	}
	for range 2 {
		expect(t, c, "member readmit node-3 --operation back", 0, "operation back, readmit node-3: done\n", "")
	}
	if o := expect(t, c, "member list", 0, "", ""); c.Begun() != 2 || strings.Contains(o.out, "removed:") {
		t.Errorf("%d operations: %s", c.Begun(), o.out)
	}
}

// Whoever removes a node of a cluster with TLS hears what becomes of its certificate.
func TestMemberRemoveTellsOfTheCertificate(t *testing.T) {
	for endpoint, want := range map[string]bool{"https://h:1": true, "HTTPS://h:1": true, "http://h:1": false} {
		a := newApp(nil, nil, nil, nil)
		a.endpoints = []string{endpoint}
		if got := a.overTLS(); got != want {
			t.Errorf("%s: %v", endpoint, got)
		}
	}
	c := start(t, 3)
	var errOut bytes.Buffer
	a := newApp(nil, nil, io.Discard, &errOut)
	a.endpoints, a.timeout = []string{"https://h:1"}, 10*time.Second
	m := &memberChange{app: a, kind: client.ChangeRemove}
	if err := m.remove(t.Context(), dial(t, c), "node-3"); err != nil {
		t.Fatal(err)
	}
	if want := "To let the node join again: kvctl member readmit node-3\n"; !strings.HasSuffix(errOut.String(), want) {
		t.Errorf("%s\nlacks %s", errOut.String(), want)
	}
}

// Every outcome has its exit code, and a text that says what to do.
func TestMemberOutcomes(t *testing.T) {
	c := start(t, 3)
	expect(t, c, "member remove 9", 1, "", "there is no member 9; members are 1 (node-1), 2 (node-2), 3 (node-3)")
	expect(t, c, "member promote 2", 1, "", "the members were not changed: ")
	expect(t, c, "member promote 2 --json", 1, "", `"outcome":"members not changed"`)
	expect(t, c, "member update 2", 2, "", "give --peer-address, --client-address or --name")
	expect(t, c, "member remove", 2, "", "kvctl member remove NODE")
	expect(t, c, "member remove 2 --stale", 2, "", "leave them out here")
	expect(t, c, "member cancel nothing", 1, "", "there is no operation nothing")

	editMember(c, 2, func(m *api.Member) { m.Connected = false })
	expect(t, c, "member remove 3", 1, "", "1 of the 2 voters that are left are alive")
	expect(t, c, "member remove 3 --force-quorum-loss 2", 1, "", "1 of the 2 voters that are left are alive")
	expect(t, c, "member remove 3 --force-quorum-loss 1 --dry-run", 0, "2 voters, 1 alive: no majority, so nothing can be written", "")

	c.LookTimes(0)
	expect(t, c, "member remove 2 --operation op-1 --timeout 600ms", 3, "",
		"wait for its end, run the same command again with --operation op-1")
	expect(t, c, "member remove 2 --operation op-1 --no-wait", 0, "operation op-1, remove node 2: running\n", "")
	expect(t, c, "member remove 3", 1, "", "operation op-1 (remove node 2) runs")
	expect(t, c, "member list", 0, "operation op-1, remove node 2: it waits to be looked at", "")
	expect(t, c, "status", 0, "operation op-1, remove node 2: it waits to be looked at", "")
	expect(t, c, "member cancel op-1", 0, "operation op-1, remove node 2: cancelled\n", "")
	expect(t, c, "member list", 0, "operation op-1, remove node 2: cancelled", "")

	c.LookTimes(1)
	c.EndOperationsAs(api.OperationFailed, "node 2 came back")
	expect(t, c, "member remove 2", 1, "", "it failed: node 2 came back")
}

// A lost answer leaves the command that settles it.
func TestMemberChangeOfUnknownOutcome(t *testing.T) {
	c := start(t, 3)
	c.Inject(func(r clienttest.Request) clienttest.Fault {
		if r.Path == api.PathMembersRemove && c.Begun() > 0 {
			return clienttest.Drop
		}
		return clienttest.None
	})
	c.LookTimes(0)
	first := expect(t, c, "member remove 3 --no-wait --json", 0, `"kind":"remove"`, "")
	id := decode[client.MemberOperation](t, first.out).ID
	expect(t, c, "member cancel "+id, 0, "cancelled", "")
	lost := 0
	c.Inject(func(r clienttest.Request) clienttest.Fault {
		if r.Path != api.PathMembersRemove {
			return clienttest.None
		}
		if lost++; lost == 1 {
			return clienttest.None // the plan
		}
		return clienttest.DropApplied
	})
	o := expect(t, c, "member remove 3 --timeout 300ms", 3, "", "run the same command again with --operation ")
	_, id, _ = strings.Cut(o.errOut, "again with --operation ")
	c.Inject(func(clienttest.Request) clienttest.Fault { return clienttest.None })
	c.LookTimes(1)
	expect(t, c, "member remove 3 --operation "+strings.TrimSpace(id), 0, ": done\n", "")
	if c.Begun() != 2 {
		t.Errorf("%d operations", c.Begun())
	}
}

// A replacement that waits for a node says which command starts one.
func TestMemberReplaceSaysWhatToStart(t *testing.T) {
	c := start(t, 3)
	editMember(c, 1, func(m *api.Member) { m.PeerAddress = "10.0.0.1:8300" })
	editMember(c, 2, func(m *api.Member) { m.PeerAddress = "10.0.0.2:8300" })
	o := expect(t, c, "member replace 3 --no-wait", 0, "", "kvctl:   kvnode --data DIR --join 10.0.0.1:8300 --insecure --peer HOST:PORT --client HOST:PORT --replace node-3\n")
	const file = "kvctl:   join = \"10.0.0.1:8300\"\nkvctl:   peer = \"HOST:PORT\"\nkvctl:   replace = \"node-3\" "
	if !strings.Contains(o.errOut, file) || !strings.Contains(o.errOut, "member\nkvctl:   insecure = true\n") {
		t.Errorf("what a package's file needs is missing: %s", o.errOut)
	}
}

// The command for a cluster with TLS and tokens has what a node needs there.
func TestTheCommandToJoinHasTLS(t *testing.T) {
	c := start(t, 3)
	editMember(c, 1, func(m *api.Member) { m.PeerAddress = "10.0.0.1:8300" })
	for secret, want := range map[string]string{"": "FILE", "s": "FILE --acl"} {
		a := newApp(nil, nil, io.Discard, io.Discard)
		a.endpoints, a.token = []string{"https://h:1"}, secret
		got := a.joinCommand(a.joinAddress(t.Context(), dial(t, c)))
		if got != "kvnode --data DIR --join 10.0.0.1:8300 --tls-cert FILE --tls-key FILE --tls-ca "+want {
			t.Error(got)
		}
	}
}

func TestMemberAdd(t *testing.T) {
	c := start(t, 3)
	editMember(c, 1, func(m *api.Member) { m.PeerAddress = "" })
	editMember(c, 2, func(m *api.Member) { m.PeerAddress = "10.0.0.2:8300" })
	editMember(c, 3, func(m *api.Member) { m.PeerAddress = "" })
	o := expect(t, c, "member add --name n4 --peer 10.0.0.4:8300 --client 10.0.0.4:8500 --non-voter", 0,
		"\n  kvnode --data DIR --join 10.0.0.2:8300 --insecure --node-name n4 --peer 10.0.0.4:8300 --client 10.0.0.4:8500 --non-voter\n", "")
	if c.Begun() != 0 {
		t.Errorf("%d operations: %s", c.Begun(), o.out)
	}
	const file = " in /etc/kvnode.toml in place of id and cluster:\n" +
		"  join = \"10.0.0.2:8300\"\n  peer = \"10.0.0.4:8300\"\n" +
		"  client = \"10.0.0.4:8500\"   # in place of the other one\n  node-name = \"n4\"\n  non-voter = true\n" +
		"  insecure = true\n"
	if !strings.HasSuffix(o.out, file) {
		t.Errorf("what a package's file needs is missing: %s", o.out)
	}
	const bare = `"settings":["join = \"10.0.0.2:8300\"","peer = \"HOST:PORT\"","insecure = true"]`
	expect(t, c, "member add --json", 0, bare, "")
	expect(t, c, "member add --wait", 2, "", "give the name of the node with --name")
	expect(t, c, "member add --name n4 --wait --timeout 400ms", 1, "start the node", "waiting for a node named n4")

	c.EditMembers(func(l []api.Member) []api.Member { return append(l, api.Member{Node: 4, Name: "n4"}) })
	c.LookTimes(5)
	if _, err := dial(t, c).Members().Promote(t.Context(), client.MemberChange{Node: 4}); err != nil {
		t.Fatal(err)
	}
	expect(t, c, "member add --name n4 --wait", 0, "node 4, n4, is a voter\n", "kvctl: it waits to be looked at")
}

func dial(t *testing.T, c *clienttest.Cluster) *client.Client {
	t.Helper()
	x, err := client.New(client.Config{Endpoints: c.Endpoints()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	return x
}

// A copy of the state is shown now and then, a new step at once.
func TestOperationProgress(t *testing.T) {
	var out bytes.Buffer
	p := &operationProgress{printer: &newApp(nil, nil, nil, &out).printer}
	o := client.MemberOperation{Node: 3, By: 4, State: client.OperationRunning, Step: "node 4 gets a copy"}
	l := client.MemberList{Members: []client.Member{{Node: 4, Snapshot: &client.SnapshotStatus{From: 1, Bytes: 10, TotalBytes: 100}}}}
	p.seen(l, o)
	l.Members[0].Snapshot.Bytes = 20
	p.seen(l, o)
	p.told = p.told.Add(-time.Minute)
	l.Members[0].Snapshot.Bytes = 90
	p.seen(l, o)
	l.Members[0].Snapshot = nil
	o.Step, o.WaitMS = "the removal of node 3 is being settled", 1500
	p.seen(l, o)
	o.Step, o.WaitMS = "waits 1m1.2s until no lease is live", 61_100
	p.seen(l, o)
	o.Step, o.WaitMS = "waits 800ms until no lease is live", 790
	p.seen(l, o) // the same step
	p.told = p.told.Add(-time.Minute)
	p.seen(l, o)
	o.State = client.OperationDone
	p.seen(l, o)
	want := "kvctl: node 4 receives a copy of the state from node 1: 10 B of 100 B, 10 %\n" +
		"kvctl: node 4 receives a copy of the state from node 1: 90 B of 100 B, 90 %\n" +
		"kvctl: the removal of node 3 is being settled, 1.5 s left\n" +
		"kvctl: waits 1 min until no lease is live\n" +
		"kvctl: waits 790 ms until no lease is live\n"
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}

// Status counts voters only, and asks members that are not among the endpoints.
func TestStatusOfMembers(t *testing.T) {
	c := start(t, 4)
	editMember(c, 4, nonVoter)
	run := func(endpoint string) outcome {
		var out, errOut bytes.Buffer
		code := run(context.Background(), []string{"status"}, []string{endpointsVariable + "=" + endpoint}, nil, &out, &errOut)
		return outcome{code, out.String(), errOut.String()}
	}
	if o := run(c.Endpoints()[3]); o.code != 0 || !strings.Contains(o.out, "4 of 4 nodes answering") ||
		!strings.Contains(o.out, "non-voter") {
		t.Errorf("exit %d\n%s%s", o.code, o.out, o.errOut)
	}
	c.Node(2).Stop()
	o := run(c.Endpoints()[3])
	if o.code != 0 || !strings.Contains(o.out, "3 of 4 nodes answering") || !strings.Contains(strings.Join(strings.Fields(o.out), " "), " 2 unreachable ") {
		t.Errorf("exit %d\n%s%s", o.code, o.out, o.errOut)
	}
	c.Node(3).Stop()
	c.SetMaster(0)
	if o := run(c.Endpoints()[3]); o.code != 1 || !strings.Contains(o.errOut, "no majority: 1 of 3 nodes answer") {
		t.Errorf("exit %d\n%s%s", o.code, o.out, o.errOut)
	}
}

// Where a node listens for no others, the texts that say how one joins say what to do first.
func TestANodeThatNoneCanJoin(t *testing.T) {
	c := start(t, 1)
	o := expect(t, c, "member add", 0, "kvnode --data DIR --join 127.0.0.1:8300 --peer", "")
	if o.errOut != "" || strings.Contains(o.out, "insecure") {
		t.Errorf("a node that can be joined: %+v", o)
	}
	editMember(c, 1, func(m *api.Member) { m.PeerAddress = "" })
	const note = "node 1 listens for no other nodes, so none can join: start it again with --peer HOST:PORT"
	expect(t, c, "member list", 0, "\n"+note+"\n", "")
	expect(t, c, "member add", 0, "kvnode --data DIR --join HOST:PORT", note)
}
