package replica

import (
	"fmt"
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/quorum"
	"tenure/lease"
	"tenure/multipaxos"
	"tenure/server/members"
)

// settling finds out, on the master, that no lease of an older membership can be live any more. A new master begins
// anew.
//
// C(k) settles when (a) and then (b) hold:
//
//   - (a) So many nodes of C(k-1) have acknowledged C(k) that the others are no majority of C(k-1). So no lease begins
//     or is renewed under an older stamp. A majority of C(k) has also acknowledged it, so these nodes have all chosen
//     entries.
//   - (b) Since then the longest lease of "master" has passed on this clock, and all acknowledged exclusions have
//     ended.
type settling struct {
	timing lease.Timing
	number uint64 // that is to settle; 0: none
	acks   []ballot.NodeID
	enough bool
	until  time.Duration
}

// reset forgets everything.
func (s *settling) reset() { *s = settling{timing: s.timing} }

// step notes new acknowledgements, and reports whether the membership has settled, or else why not.
func (s *settling) step(now time.Duration, r *members.Record, peers []peerView, self ballot.NodeID, own *inForceHere,
	marked multipaxos.Slot) (done bool, why string) {
	if r.IsSettled() {
		s.reset()
		return true, ""
	}
	if s.number != r.Membership.Number {
		s.reset()
		s.number = r.Membership.Number
	}
	if n, excluding := own.told(now, marked); n >= s.number {
		s.ack(r, now, self, excluding)
	}
	for i := range peers {
		if p := &peers[i]; p.inForce >= s.number {
			s.ack(r, p.heard, p.node, p.excluding)
		}
	}
	if !s.enough && s.acknowledged(r) {
		s.enough = true
		s.until = max(s.until, now+s.longest(s.timing.MaxMaster))
	}
	switch {
	case !s.enough:
		return false, fmt.Sprintf("waits until enough nodes have acknowledged membership %d; %v have", s.number, s.acks)
	case now < s.until:
		return false, fmt.Sprintf("waits %v until no lease of the voters before membership %d can be live",
			(s.until - now).Round(100*time.Millisecond), s.number)
	}
	return true, ""
}

// ack notes the first acknowledgement of a node, received at the time at. The exclusion counts only for previous
// voters: the grants of other nodes did not count under an older stamp, and a node that has just joined is silent for
// long.
func (s *settling) ack(r *members.Record, at time.Duration, node ballot.NodeID, excluding time.Duration) {
	voted := lists(r.Before, node)
	if slices.Contains(s.acks, node) || !voted && !lists(r.Membership.Members, node) {
		return
	}
	s.acks = append(s.acks, node)
	if voted && excluding > 0 {
		s.until = max(s.until, at+s.longest(excluding))
	}
}

func lists(ms []ident.Member, node ballot.NodeID) bool {
	return slices.ContainsFunc(ms, func(m ident.Member) bool { return m.Node == node })
}

// acknowledged reports whether the acknowledgements are enough to begin to wait.
func (s *settling) acknowledged(r *members.Record) bool {
	has := func(id ballot.NodeID) bool { return slices.Contains(s.acks, id) }
	var with quorum.Set
	for _, x := range r.Membership.Members {
		if has(x.Node) {
			with.Add(x.Node)
		}
	}
	return members.Blocks(r.Before, has) && quorum.Reached(r.Membership.Voters(), with)
}

// longest is for how long a clock here must go on until d has passed on every clock that may be as fast or as slow as
// allowed. Config.Validate has found the times good; what does not fit them never settles.
func (s *settling) longest(d time.Duration) time.Duration {
	span, err := s.timing.Exclusion(d)
	if err != nil {
		return 1 << 60
	}
	return span
}

// left is how long the wait lasts yet, 0 if nothing is known of it.
func (s *settling) left(now time.Duration) time.Duration {
	if !s.enough {
		return 0
	}
	return max(0, s.until-now)
}

// Acknowledgement is a node's report that a membership is in force there, as in its heartbeats.
type Acknowledgement struct {
	Node      ballot.NodeID
	Excluding time.Duration
}

// SettleWait returns how long a master waits until its newest membership counts as settled, if these acknowledgements
// of it all come at one time. ok is false if they are not enough. The explorer, which has no log and no heartbeats,
// asks here.
func SettleWait(t lease.Timing, r *members.Record, acked []Acknowledgement) (wait time.Duration, ok bool) {
	s, own := settling{timing: t}, inForceHere{}
	peers := make([]peerView, len(acked))
	for i, a := range acked {
		peers[i] = peerView{node: a.Node, inForce: r.Membership.Number, excluding: a.Excluding}
	}
	done, _ := s.step(0, r, peers, 0, &own, 0)
	return s.left(0), done || s.enough
}
