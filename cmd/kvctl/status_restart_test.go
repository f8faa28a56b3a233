package main

import (
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/client"
)

// Between two steps of an upgrade kvctl waits until the others go on without the next node.
func TestWaitSafeToRestart(t *testing.T) {
	c := start(t, 3)
	const wait = "status --wait-safe-to-restart "
	expect(t, c, wait+"2 --timeout 300ms", 1, "", "node 2 is not safe to restart: it does not take part yet, or its release cannot tell")
	c.Node(2).SetAbsence(&api.Absence{Harmless: true})
	expect(t, c, wait+"node-2", 0, "node 2 is safe to restart: the others go on without it\n", "")
	expect(t, c, wait+"2 --json", 0, `{"node":2,"safe":true}`, "")
	expect(t, c, wait+"9", 1, "", "there is no member 9")
	expect(t, c, wait+"2 --watch", 2, "", "--watch does not go with --wait-safe-to-restart")

	c.Node(2).SetAbsence(&api.Absence{WaitMS: 400, Why: "node 3 must be silent"})
	expect(t, c, wait+"2 --json --timeout 300ms", 1, `{"node":2,"safe":false,"why":"node 3 must be silent"}`,
		"node 2 is not safe to restart: node 3 must be silent")
	time.AfterFunc(500*time.Millisecond, func() { c.Node(2).SetAbsence(&api.Absence{Harmless: true}) })
	expect(t, c, wait+"2", 0, "node 2 is safe to restart", "kvctl: waits until node 2 is safe to restart: node 3 must be silent\n")

	c.Node(3).Stop()
	c.Node(2).Stop()
	expect(t, c, wait+"2 --timeout 1s", 1, "", "node 2 does not answer")
}

// A node that is asked at two addresses renews no more leases than at one.
func TestWaitSafeToRestartCountsNodes(t *testing.T) {
	own := nodeView{status: client.Status{Node: 1, Role: api.RoleFollower, Absence: &api.Absence{Harmless: true},
		Peers: []api.PeerStatus{{Node: 2}, {Node: 3}}}, at: time.Now()}
	renews := nodeView{status: client.Status{Node: 2, Role: api.RoleMaster}, at: time.Now()}
	silent := nodeView{status: client.Status{Node: 3, Role: api.RoleFollower}, at: time.Now()}
	silent.status.Leases.QuarantineMS = 7000
	why := (survey{own, renews, renews, silent}).whyNotRestart(client.Member{Node: 1, Voter: true})
	if !strings.HasPrefix(why, "without it 1 of 3 voters renew named leases") {
		t.Errorf("%q", why)
	}
}

// A node of another cluster says nothing about that of the same number.
func TestWaitSafeToRestartInTwoClusters(t *testing.T) {
	c, other := start(t, 3), start(t, 3)
	other.SetID("another")
	other.Node(2).SetAbsence(&api.Absence{Harmless: true})
	endpoints := strings.Join(append(c.Endpoints(), other.Endpoints()...), ",")
	expect(t, c, "status --wait-safe-to-restart 2 --timeout 1s --endpoints "+endpoints, 1, "",
		"the endpoints belong to different clusters")
}
