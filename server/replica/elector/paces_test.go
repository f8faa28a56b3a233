package elector

import (
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/lease"
)

// Those of elections too: the first after the old owner may try at once.
func TestRanksAfterAnOwnerAreApart(t *testing.T) {
	const n, step = 5, testLease / rankPart
	w := newElectors(t, n)
	for owner := ballot.NodeID(1); owner <= n; owner++ {
		for range 20 {
			for i := range time.Duration(n) {
				id := (owner+ballot.NodeID(i))%n + 1
				if wait := w.nodes[id].rank(owner); wait < i*step || wait >= i*step+step/4 {
					t.Fatalf("after node %d node %d waits for %v, want %v and a little", owner, id, wait, i*step)
				}
			}
		}
	}
}

// prepares counts the attempts for the mastership that node id begins.
func (w *electors) prepares(id ballot.NodeID) *int {
	seen := map[ballot.Ballot]bool{}
	n := new(int)
	w.sent = func(from ballot.NodeID, m lease.Message) {
		if m.Kind == lease.KindPrepare && from == id && !seen[m.Ballot] {
			seen[m.Ballot] = true
			*n++
		}
	}
	return n
}

// An elector has nothing to do before its nextWake, and wakes at least ten times in a lease time.
func TestElectorsWakeInTime(t *testing.T) {
	w := newElectors(t, 3)
	var most time.Duration
	w.run("an owner, and its renewals", 5*testLease, func() bool {
		for _, id := range w.order {
			wake := w.nodes[id].nextWake(w.now)
			if wake < w.now || wake > w.now+testLease/10 {
				t.Fatalf("at %v node %d wants to wake at %v", w.now, id, wake)
			}
			most = max(most, wake-w.now)
		}
		return w.now > time.Minute+3*testLease
	})
	if w.owner() == 0 || most == 0 {
		t.Fatalf("owner %d, at most %v of sleep", w.owner(), most)
	}
}

// An elector blocked by a lease that its own acceptor does not know tries again when the lease is over, in its turn
// after the owner, and not before.
func TestABlockedElectorWaits(t *testing.T) {
	const late = 5 // it comes when another one has the lease
	w := newElectors(t, late)
	w.cut[4], w.cut[late] = true, true
	w.run("an owner", 3*testLease, func() bool { return w.owner() != 0 })
	owner := w.owner()
	w.cut[late] = false
	w.drop = func(m lease.Message) bool {
		return m.To == late && (m.Kind == lease.KindPrepare || m.Kind == lease.KindAccept)
	}
	e, n := w.nodes[late], w.prepares(late)
	var last lease.End
	w.run("an attempt that is blocked", 3*testLease, func() bool {
		last = e.proposer.Attempt().Last
		return last.Reason == lease.EndBlocked && last.Blocker.Left > 0
	})
	place := time.Duration(late - owner - 1)
	if wait := e.tryAt - w.now; last.Blocker.Owner.Node != owner || wait < last.Blocker.Left+place*testLease/rankPart {
		t.Errorf("blocked by node %d for %v: the next try is in %v", last.Blocker.Owner.Node, last.Blocker.Left, wait)
	}
	*n = 0
	w.run("half the rest of the lease", testLease, func() bool { return w.now >= e.tryAt-last.Blocker.Left/2 })
	if *n != 0 {
		t.Errorf("it tried %d times beside the lease of node %d", *n, owner)
	}
}

// A node that has released its lease, though it was renewing it, does not try for as long as it was told to stand back.
func TestStandingBackLastsAsLongAsItWasTold(t *testing.T) {
	w := newElectors(t, 3)
	w.run("an owner", 3*testLease, func() bool { return w.owner() != 0 })
	id := w.owner()
	w.cut[id] = true // nobody answers its renewal
	w.run("a renewal", testLease, func() bool { return w.nodes[id].trying })
	const back = 5 * testLease
	released := w.now
	w.nodes[id].releases(w.now, back, CauseNoProgress)
	n := w.prepares(id)
	w.run("its next try", 2*back, func() bool { return *n > 0 })
	if took := w.now - released; took < back {
		t.Errorf("it tried after %v, told to stand back for %v", took, back)
	}
}

// A node that is barred from trying looks up as seldom as any other.
func TestABarredElectorSleeps(t *testing.T) {
	w := newElectors(t, 3)
	e := w.nodes[1]
	e.unable = true
	e.give(w.now, Event{})
	if wait := e.nextWake(w.now) - w.now; wait < testLease/20 || wait > testLease/10 {
		t.Errorf("it wakes in %v", wait)
	}
}

// Of changes that nobody takes the newest are kept.
func TestOldTenureChangesGiveWay(t *testing.T) {
	var all tenures
	for i := range maxTenureChanges + 3 {
		all.add(TenureChange{End: &TenureEnd{}, Start: &TenureStart{Tenure: uint64(i)}})
	}
	got := all.drain()
	if len(got) != maxTenureChanges || got[0].Start.Tenure != 3 || len(all.drain()) != 0 {
		t.Errorf("%d changes are kept", len(got))
	}
}
