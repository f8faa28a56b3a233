package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"tenure/api"
	"tenure/client"
)

// lookAgain is how often awaitRestart asks.
const lookAgain = 200 * time.Millisecond

// restartJSON is what status --wait-safe-to-restart prints with --json.
type restartJSON struct {
	Node uint64 `json:"node"`
	Safe bool   `json:"safe"`
	Why  string `json:"why,omitempty"` // it is not
}

// awaitRestart waits until the node that arg names may be stopped, for the time limit of the command at most.
func (a *app) awaitRestart(ctx context.Context, c *client.Client, arg string) error {
	var r restartJSON // as last seen
	for {
		s, list := takeMembers(ctx, c)
		if r.Node != 0 && ctx.Err() != nil { // the last look may have been cut off
			break
		}
		if s.answering() == 0 || len(s.clusters()) > 1 { // a node of another cluster may have the same number
			return s.problem()
		}
		m, err := memberOf(list, arg)
		if err != nil {
			return err
		}
		told := r.Node != 0
		r = restartJSON{Node: m.Node, Why: s.whyNotRestart(m)}
		if r.Safe = r.Why == ""; r.Safe {
			return a.printf(r, "node %d is safe to restart: the others go on without it\n", r.Node)
		}
		if !told {
			a.note("waits until node %d is safe to restart: %s", r.Node, r.Why)
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
		}
	}
	if err := a.printf(r, ""); err != nil {
		return err
	}
	return fmt.Errorf("node %d is not safe to restart: %s", r.Node, r.Why)
}

// memberOf is memberIn, but for a list that nobody told: then arg must be a number, and the node is taken for a voter.
func memberOf(list client.MemberList, arg string) (client.Member, error) {
	if list.Node != 0 {
		return memberIn(list, arg)
	}
	id, err := strconv.ParseUint(arg, 10, 64)
	if err != nil {
		return client.Member{}, usage("no node tells the names of the members: give the node's number")
	}
	return client.Member{Node: id, Voter: true}, nil
}

// whyNotRestart says why m should not be stopped now; "" if the others elect a master and renew named leases without
// it.
func (s survey) whyNotRestart(m client.Member) string {
	var own *client.Status
	renewing, silent := map[uint64]bool{}, int64(0) // by node: one may be asked at two addresses
	for i := range s {
		n := &s[i]
		if !n.answers() {
			continue
		}
		switch {
		case n.status.Node == m.Node:
			own = &n.status
		case n.status.Role == api.RoleMaster || n.status.Role == api.RoleFollower:
			if n.status.Leases.QuarantineMS == 0 {
				renewing[n.status.Node] = true
			}
			silent = max(silent, n.status.Leases.QuarantineMS)
		}
	}
	switch voters := s.voters(); {
	case own == nil:
		return fmt.Sprintf("node %d does not answer", m.Node)
	case own.Absence == nil:
		return "it does not take part yet, or its release cannot tell"
	case !own.Absence.Harmless:
		return own.Absence.Why
	case m.Voter && 2*len(renewing) <= voters:
		return fmt.Sprintf("without it %d of %d voters renew named leases; after a start a node is silent about them, and "+
			"the last begins in %v", len(renewing), voters, time.Duration(silent)*time.Millisecond)
	}
	return ""
}
