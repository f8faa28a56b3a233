package replica

import (
	"time"

	"tenure/multipaxos"
)

// PartInForce is what a lease part goes by: it takes no stamp older than Number, and a lease that it has accepted under
// an older one lives for Excluding at most.
type PartInForce struct {
	Number    uint64
	Excluding time.Duration
}

// InForceIn returns what the log part is told when both lease parts go by a membership.
func InForceIn(master, named PartInForce) *MembersInForce {
	return &MembersInForce{Number: min(master.Number, named.Number), Excluding: max(master.Excluding, named.Excluding),
		Silent: master.Excluding}
}

// inForceHere puts the newest membership in force on this node. The node's heartbeats acknowledge it.
type inForceHere struct {
	number    uint64          // of the membership in force, as its lease parts have told; 0: they have not
	applied   uint64          // the newest number in the state; 0: the state has no record
	slot      multipaxos.Slot // of the entry that brought the newest membership, or its number, in this run
	announce  bool            // the newest membership is to be put in force
	dismissed uint64          // the newest number that was told to be held by a majority
	excluding time.Duration   // as of at
	silent    time.Duration   // as of at
	at        time.Duration
}

// apply notes that the record of this number, from this slot, is in the state. newest says whether it is the newest
// membership known to this node. It reports whether the disk should soon have the chosen mark.
func (o *inForceHere) apply(number uint64, slot multipaxos.Slot, newest bool) bool {
	if number <= o.applied && !newest {
		return false
	}
	o.applied, o.slot, o.announce = max(o.applied, number), slot, o.announce || newest
	return true
}

// put is told that a membership is in force here.
func (o *inForceHere) put(now time.Duration, f MembersInForce) {
	if f.Number >= o.number {
		o.number, o.excluding, o.silent, o.at = f.Number, f.Excluding, f.Silent, now
	}
}

// told returns the membership number and the exclusion for heartbeats at now. A restart finds the log whole, and known
// as chosen, through slot marked. An acknowledgement says that this holds through the membership's entry. Once a
// majority of the new voters has acknowledged, they have all entries chosen before, and go on under the new membership
// after any restart. Then the disk of a removed node is no longer needed.
func (o *inForceHere) told(now time.Duration, marked multipaxos.Slot) (number uint64, excluding time.Duration) {
	if o.number <= 1 || o.number > o.applied || marked < o.slot {
		return 1, 0
	}
	return o.number, max(0, o.excluding-max(0, now-o.at))
}

// silence returns, for heartbeats at now, how long the acceptor of the master lease stays silent.
func (o *inForceHere) silence(now time.Duration) time.Duration {
	return max(0, o.silent-max(0, now-o.at))
}

// hand hands out the newest membership, to be made durable and put in force. It does so only once a restart would find
// the log through the membership's entry and know that entry as chosen (marked). The identity must not know more than
// the log: a restart learns from the log which members decide its slots. hand also hands out the number of the newest
// membership that a majority holds. It hands out a membership that removes this node only once a majority holds that
// membership.
func (o *inForceHere) hand(now time.Duration, marked multipaxos.Slot, m *membersView, out *outbox) {
	own, _ := o.told(now, marked)
	held := m.held(own)
	if n := m.newest.Number; held && n > o.dismissed {
		o.dismissed = n
		out.out.Dismiss = n
	}
	if o.announce && marked >= o.slot && (held || !m.removed()) {
		o.announce = false
		newest := m.newest
		out.out.Members = &newest
	}
}
