package client_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/client/clienttest"
)

// members starts three members that listen, and a client of them.
func members(t *testing.T) (*clienttest.Cluster, *client.Client) {
	t.Helper()
	cluster := clienttest.Start(3)
	t.Cleanup(cluster.Close)
	c, err := client.New(client.Config{Endpoints: cluster.Endpoints(), AttemptTimeout: 100 * time.Millisecond, NoLearning: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return cluster, c
}

// nonVoter makes a non-voter of node n.
func nonVoter(c *clienttest.Cluster, n uint64) {
	c.EditMembers(func(l []api.Member) []api.Member {
		l[n-1].Voter = false
		return l
	})
}

func TestMembersAreListed(t *testing.T) {
	cluster, c := members(t)
	nonVoter(cluster, 3)
	l, err := c.Members().List(t.Context())
	if err != nil || len(l.Members) != 3 || !l.Members[0].Voter || l.Members[2].Voter || l.Master != 1 {
		t.Errorf("%+v, %v", l, err)
	}
}

// However an answer is lost, the change is made once, and its outcome found.
func TestALostAnswerDoesNotChangeMembersTwice(t *testing.T) {
	for _, f := range []clienttest.Fault{clienttest.UnknownApplied, clienttest.DropApplied, clienttest.HangApplied, clienttest.Drop, clienttest.Busy, clienttest.Garbage} {
		cluster, c := members(t)
		cluster.LookTimes(0)
		var failed atomic.Bool
		cluster.Inject(func(r clienttest.Request) clienttest.Fault {
			if r.Path == api.PathMembersRemove && failed.CompareAndSwap(false, true) {
				return f
			}
			return clienttest.None
		})
		op, err := c.Members().Remove(t.Context(), client.MemberChange{Node: 3})
		if err != nil || op.Node != 3 || op.ID == "" || op.State != client.OperationRunning || cluster.Begun() != 1 {
			t.Errorf("fault %d: %+v, %v, %d begun", f, op, err, cluster.Begun())
		}
		if !failed.Load() {
			t.Errorf("fault %d: nothing failed", f)
		}
	}
}

// When no answer comes at all, the error has the id under which the change can be asked for again.
func TestAnUnknownChangeOfMembersCanBeAskedForAgain(t *testing.T) {
	cluster, c := members(t)
	cluster.Inject(func(clienttest.Request) clienttest.Fault { return clienttest.DropApplied })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := c.Members().Remove(ctx, client.MemberChange{Node: 3})
	var e *client.Error
	if !errors.Is(err, client.ErrUnknown) || !errors.As(err, &e) || e.Operation == "" {
		t.Fatalf("%v, %+v", err, e)
	}
	cluster.Inject(func(clienttest.Request) clienttest.Fault { return clienttest.None })
	op, err := c.Members().Remove(t.Context(), client.MemberChange{Node: 3, Operation: e.Operation})
	if err != nil || op.ID != e.Operation || cluster.Begun() != 1 {
		t.Errorf("%+v, %v, %d begun", op, err, cluster.Begun())
	}
	_, err = c.Members().Remove(t.Context(), client.MemberChange{Node: 2, Operation: e.Operation})
	if !errors.Is(err, client.ErrKeyReused) {
		t.Errorf("the id of another change: %v", err)
	}
}

// Each refusal is an ErrMembers whose code says why.
func TestRefusedChangesOfMembers(t *testing.T) {
	cluster, c := members(t)
	m := c.Members()
	refused := func(what string, err error, want api.Code) {
		t.Helper()
		var s *client.StatusError
		if !errors.Is(err, client.ErrMembers) || !errors.As(err, &s) || s.Code != want {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := m.Add(t.Context(), client.MemberChange{Name: "n"})
	if !errors.Is(err, client.ErrInvalid) {
		t.Errorf("an addition without a store: %v", err)
	}
	_, err = m.Remove(t.Context(), client.MemberChange{Node: 9})
	refused("no member", err, api.CodeNotMember)
	_, err = m.Promote(t.Context(), client.MemberChange{Node: 2})
	refused("a voter", err, api.CodeMemberState)
	_, err = m.Plan(t.Context(), client.ChangePromote, client.MemberChange{Node: 2})
	refused("a voter, planned", err, api.CodeMemberState)
	cluster.EditMembers(func(l []api.Member) []api.Member {
		l[1].Connected = false
		return l
	})
	_, err = m.Remove(t.Context(), client.MemberChange{Node: 3})
	refused("no majority alive", err, api.CodeQuorumLoss)
	if _, err = m.Remove(t.Context(), client.MemberChange{Node: 3, ForceQuorumLoss: 1}); err != nil {
		t.Error(err)
	}
	_, err = m.Update(t.Context(), client.MemberChange{Node: 1, Name: "n"})
	refused("another runs", err, api.CodeMemberBusy)
	_, err = m.Cancel(t.Context(), "none")
	refused("no operation", err, api.CodeNotMember)
	if err := m.Drain(t.Context(), 9, false); true {
		refused("drain of no member", err, api.CodeNotMember)
	}
}

func TestPlansOfMembersChangeNothing(t *testing.T) {
	cluster, c := members(t)
	p, err := c.Members().Plan(t.Context(), client.ChangeRemove, client.MemberChange{Node: 3})
	want := client.Tolerance{Voters: 2, Alive: 2, Failures: 0}
	if err != nil || p.Kind != client.ChangeRemove || p.After != want || cluster.Begun() != 0 {
		t.Errorf("%+v, %v, %d begun", p, err, cluster.Begun())
	}
	cluster.Inject(func(clienttest.Request) clienttest.Fault { return clienttest.Drop })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err = c.Members().Plan(ctx, client.ChangeRemove, client.MemberChange{Node: 3}); !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("a plan that nobody answers: %v", err)
	}
}

// Wait follows an operation to its end, through nodes that fail and nodes that do not know it yet.
func TestWaitForAnOperation(t *testing.T) {
	for _, x := range []struct {
		state, problem string
		want           error
	}{
		{client.OperationDone, "", nil},
		{client.OperationFailed, "node 3 is gone", client.ErrMembers},
		{client.OperationCancelled, "by an operator", client.ErrMembers},
		{client.OperationCancelled, "", client.ErrMembers},
	} {
		cluster, c := members(t)
		cluster.EndOperationsAs(x.state, x.problem)
		cluster.LookTimes(2)
		var n atomic.Int32
		cluster.Inject(func(r clienttest.Request) clienttest.Fault {
			if r.Path == api.PathMembers && n.Add(1) == 2 {
				return clienttest.Drop
			}
			return clienttest.None
		})
		op, err := c.Members().Remove(t.Context(), client.MemberChange{Node: 3})
		if err != nil {
			t.Fatal(err)
		}
		var seen []string
		end, err := c.Members().Wait(t.Context(), op.ID, func(_ client.MemberList, o client.MemberOperation) { seen = append(seen, o.State) })
		if !errors.Is(err, x.want) || end.State != x.state || strings.Join(seen, " ") != "running running "+x.state {
			t.Errorf("%s: %+v, %v, seen %q", x.state, end, err, seen)
		}
		if err != nil && (!strings.Contains(err.Error(), x.problem) || strings.HasSuffix(err.Error(), ": ")) {
			t.Errorf("%s: %v", x.state, err)
		}
	}
}

// When the caller gives up waiting, the error says that the operation goes on, and what it waits for.
func TestWaitEndsWithItsContext(t *testing.T) {
	cluster, c := members(t)
	cluster.LookTimes(0)
	op, err := c.Members().Remove(t.Context(), client.MemberChange{Node: 3})
	if err != nil {
		t.Fatal(err)
	}
	for id, text := range map[string]string{op.ID: op.Step, "no such": "no node that answered knew it"} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		o, err := c.Members().Wait(ctx, id, nil)
		if !errors.Is(err, client.ErrUnavailable) || o.State != client.OperationRunning || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v, %v", o, err)
		}
		cancel()
	}
	if o, err := c.Members().Cancel(t.Context(), op.ID); err != nil || o.State != client.OperationCancelled {
		t.Errorf("%+v, %v", o, err)
	}
}

// An operation that the cluster does not know is not waited for without end: one that was never begun, or was
// forgotten.
func TestWaitForAnUnknownOperation(t *testing.T) {
	cluster, c := members(t)
	cluster.LookTimes(0)
	op, err := c.Members().Remove(t.Context(), client.MemberChange{Node: 3})
	if err != nil {
		t.Fatal(err)
	}
	known := func(client.MemberList, client.MemberOperation) { cluster.ForgetOperations() }
	for _, id := range []string{op.ID, "no-such"} {
		_, err := c.Members().Wait(t.Context(), id, known)
		if !errors.Is(err, client.ErrUnknown) || !strings.Contains(err.Error(), "does not know the operation") {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// Nor is an operation that the token may not see.
func TestWaitWithoutPermission(t *testing.T) {
	cluster, _, _ := bootstrapped(t)
	c := clientOf(t, client.Config{Endpoints: cluster.Endpoints()})
	if _, err := c.Members().Wait(t.Context(), "op-1", nil); !errors.Is(err, client.ErrDenied) {
		t.Error(err)
	}
}

func TestDrain(t *testing.T) {
	cluster, c := members(t)
	for _, off := range []bool{false, true} {
		if err := c.Members().Drain(t.Context(), 2, off); err != nil || cluster.Members()[1].Draining == off {
			t.Errorf("off %v: %v, %+v", off, err, cluster.Members()[1])
		}
	}
}

// The list is the master's, who knows what an operation waits for, and has the copies that only their receivers know.
func TestTheListIsTheMasters(t *testing.T) {
	cluster := clienttest.Start(3)
	defer cluster.Close()
	cluster.LookTimes(0)
	cluster.SetMaster(3)
	cluster.EditMembers(func(l []api.Member) []api.Member {
		l[1].Lag = 700
		return l
	})
	cluster.Node(2).SetSnapshot(&api.SnapshotStatus{From: 3, Bytes: 5})
	c, err := client.New(client.Config{Endpoints: cluster.Endpoints()[:1]})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Members().Remove(t.Context(), client.MemberChange{Node: 2}); err != nil {
		t.Fatal(err)
	}
	l, err := c.Members().List(t.Context())
	if err != nil || l.Node != 3 || l.Operations[0].Step == "" || l.Members[1].Snapshot == nil || l.Members[1].Snapshot.Bytes != 5 {
		t.Errorf("%+v, %v", l, err)
	}
	cluster.Node(3).Stop()
	if l, err = c.Members().List(t.Context()); err != nil || l.Node != 1 || l.Operations[0].Step != "" {
		t.Errorf("without the master: %+v, %v", l, err)
	}
}

// The last voter that takes clients is drained only by force.
func TestDrainOfTheLast(t *testing.T) {
	cluster, c := members(t)
	m := c.Members()
	for node := uint64(1); node < 3; node++ {
		if err := m.Drain(t.Context(), node, false); err != nil {
			t.Fatal(err)
		}
	}
	var s *client.StatusError
	err := m.Drain(t.Context(), 3, false)
	if !errors.Is(err, client.ErrMembers) || !errors.As(err, &s) || s.Code != api.CodeQuorumLoss ||
		cluster.Members()[2].Draining {
		t.Errorf("the last voter was drained: %v", err)
	}
	if err := m.ForceDrain(t.Context(), 3); err != nil || !cluster.Members()[2].Draining {
		t.Errorf("the last voter was not drained by force: %v", err)
	}
}
