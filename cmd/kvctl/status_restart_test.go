package main

import (
	"testing"
	"time"

	"tenure/api"
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
