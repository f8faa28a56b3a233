package main

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tenure/api"
	"tenure/client/clienttest"
)

func TestDrainCommand(t *testing.T) {
	c := start(t, 3)
	expect(t, c, "drain node-2", 0, "node 2 takes no new clients", "")
	if !c.Members()[1].Draining {
		t.Error("node 2 does not drain")
	}
	expect(t, c, "status", 0, "follower, draining", "")
	expect(t, c, "drain 2 --off --json", 0, `{"node":2,"draining":false}`, "")
	if c.Members()[1].Draining {
		t.Error("node 2 drains")
	}
	expect(t, c, "drain 7", 1, "", "there is no member 7")
}

// A container's hook cannot say which node it belongs to.
func TestDrainOfTheNodeAtTheEndpoint(t *testing.T) {
	c := start(t, 3)
	second := c.Endpoints()[1]
	expect(t, c, "drain --self --endpoints "+second, 0, "node 2 takes no new clients", "")
	if !c.Members()[1].Draining {
		t.Error("node 2 does not drain")
	}
	expect(t, c, "drain --self --off --endpoints "+second, 0, "node 2 takes clients again", "")
	expect(t, c, "drain --self", 2, "", "give its endpoint only, with --endpoints")
	expect(t, c, "drain --self 2", 2, "", "give a node, or --self")
	expect(t, c, "drain", 2, "", "give a node, or --self")
}

// Drains that would stop all writes are refused without --force, say what is lost, and are told as the cause.
func TestDrainOfAll(t *testing.T) {
	c := start(t, 3)
	expect(t, c, "drain 2", 0, "it can be stopped\n", "")
	expect(t, c, "drain 3", 0, "it can be stopped, but not together with node 2 (drained too): 2 of 3 voters must be alive",
		"")
	for _, args := range []string{"drain 1", "drain node-1 --json"} {
		expect(t, c, args, 1, "", "with node 1 drained no voter can be master, and nothing can be written until a drain ends "+
			"(nodes 2 and 3 are drained too): nothing was changed; --force drains it all the same")
	}
	if c.Members()[0].Draining {
		t.Fatal("node 1 was drained without --force")
	}
	list := expect(t, c, "member list", 0, "", "").out
	if strings.Count(list, "voter, draining") != 2 || strings.Contains(list, "master, draining") {
		t.Errorf("member list does not show who is drained:\n%s", list)
	}
	expect(t, c, "drain 1 --force", 0, "with node 1 drained no voter can be master", "")
	c.SetMaster(0)
	expect(t, c, "status", 1, "", "no master: all are drained (3 of 3 nodes answer): end a drain with kvctl drain NODE --off")
	expect(t, c, "drain 1 --off --force", 2, "", "--force does not go with --off")
	expect(t, c, "drain 1 --off", 0, "node 1 takes clients again\n", "")
	c.SetMaster(1)
	expect(t, c, "status", 0, "", "")
}

// Of two drains at once each sees no other that is drained when it begins. The one that is done last says that the two
// nodes cannot be stopped together.
func TestDrainsAtOnce(t *testing.T) {
	c := start(t, 3)
	var once sync.Once
	c.Inject(func(r clienttest.Request) clienttest.Fault {
		if r.Path == api.PathMembersDrain {
			once.Do(func() { // while the drain of node 2 is on its way
				c.Inject(func(clienttest.Request) clienttest.Fault { return clienttest.None })
				expect(t, c, "drain 3", 0, "it can be stopped\n", "")
			})
		}
		return clienttest.None
	})
	expect(t, c, "drain 2", 0, "it can be stopped, but not together with node 3 (drained too): 2 of 3 voters must be alive", "")
}

// A voter that does not tell whether it is drained may be.
func TestDrainBesideMute(t *testing.T) {
	c := start(t, 3)
	var done atomic.Bool
	c.Inject(func(r clienttest.Request) clienttest.Fault {
		switch {
		case r.Path == api.PathMembersDrain:
			done.Store(true)
		case done.Load() && r.Node == 3:
			return clienttest.Drop
		}
		return clienttest.None
	})
	expect(t, c, "drain 2 --endpoints "+c.Endpoints()[0]+","+c.Endpoints()[2], 0, "it can be stopped, but not together with "+
		"node 3 (which may be drained too, and does not answer): 2 of 3 voters must be alive for anything to be written", "")
}

// A node that is not heard is not asked until the time is over.
func TestDrainOfStopped(t *testing.T) {
	c := start(t, 3)
	c.Node(2).Stop()
	expect(t, c, "drain 2", 1, "", "node 2 is not heard: if it is stopping or stopped, that is as good as drained")
}

// With a voter dead another one cannot be stopped; and a non-voter always can.
func TestDrainBesideDead(t *testing.T) {
	c := start(t, 4)
	editMember(c, 4, nonVoter)
	c.Node(3).Stop()
	expect(t, c, "drain 2", 1, "", "with node 2 stopped 1 of 3 voters would be alive, and writes need 2: nothing could be "+
		"written until more are back (node 3 is not heard): nothing was changed")
	expect(t, c, "drain 4", 0, "it can be stopped\n", "")
	expect(t, c, "drain 2 --force --json", 0, `"problem":"with node 2 stopped 1 of 3 voters would be alive`, "")
	expect(t, c, "drain 1", 1, "", "no voter can be master, and nothing can be written until a drain ends "+
		"(node 2 is drained too, node 3 is not heard)")
}

// The only voter stays master while it is drained.
func TestDrainOfOne(t *testing.T) {
	c := start(t, 1)
	expect(t, c, "drain 1", 1, "", "with node 1 stopped 0 of 1 voter would be alive, and writes need 1")
}
