package replica

import (
	"time"

	"tenure/multipaxos"
)

// ownForce is what this node's heartbeats say of the membership in force here.
type ownForce struct {
	number    uint64
	applied   uint64          // the newest number in the state; 0: the state has no record
	slot      multipaxos.Slot // of the entry that brought the newest membership, or its number, in this run
	announce  bool            // the newest membership is to be put in force
	parted    uint64          // the newest number that was told to be held by a majority
	excluding time.Duration   // as of at
	silent    time.Duration   // as of at
	at        time.Duration
}

// apply notes that the record of this number, from this slot, is in the state. newest says whether it is the newest
// membership known to this node. It reports whether the disk should soon have the chosen mark.
func (o *ownForce) apply(number uint64, slot multipaxos.Slot, newest bool) bool {
	if number <= o.applied && !newest {
		return false
	}
	o.applied, o.slot, o.announce = max(o.applied, number), slot, o.announce || newest
	return true
}

// put is told that a membership is in force here.
func (o *ownForce) put(now time.Duration, f MembersInForce) {
	if f.Number >= o.number {
		o.number, o.excluding, o.silent, o.at = f.Number, f.Excluding, f.Silent, now
	}
}

// told returns the membership number and the exclusion for heartbeats at now. A restart finds the log whole, and known
// as chosen, through slot marked. An acknowledgement says that this holds through the membership's entry. Once a
// majority of the new voters has acknowledged, they have all entries chosen before, and go on under the new membership
// after any restart. Then the disk of a removed node is no longer needed.
func (o *ownForce) told(now time.Duration, marked multipaxos.Slot) (number uint64, excluding time.Duration) {
	if o.number <= 1 || o.number > o.applied || marked < o.slot {
		return 1, 0
	}
	return o.number, max(0, o.excluding-max(0, now-o.at))
}

// silence returns, for heartbeats at now, how long the acceptor of the master lease stays silent.
func (o *ownForce) silence(now time.Duration) time.Duration { return max(0, o.silent-max(0, now-o.at)) }
