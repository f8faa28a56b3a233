package api

import "time"

// Transfer is the body of POST PathTransfer.
type Transfer struct {
	Node uint64 // the node to try; 0: the master chooses
}

// The roles of a node.
const (
	RoleMaster   = "master" // and ready
	RoleFollower = "follower"
	RoleNonVoter = "non-voter" // it follows the log and answers reads; its vote counts for nothing
	RoleNone     = "none"      // it takes no part: it starts, or is no member
)

// Status is a node's view of itself and its peers.
type Status struct {
	Cluster      string       `json:"cluster"`
	Node         uint64       `json:"node"`
	Name         string       `json:"name,omitempty"`
	Version      string       `json:"version"`
	Role         string       `json:"role"`
	Master       uint64       `json:"master"` // as far as this node knows; 0: it knows none
	Epoch        uint64       `json:"epoch"`  // slot of the barrier entry of the newest mastership known here
	Lease        LeaseStatus  `json:"lease"`
	Promised     string       `json:"promised"`
	Chosen       uint64       `json:"chosen"`
	Applied      uint64       `json:"applied"`
	Checkpointed uint64       `json:"checkpointed"`
	Truncated    uint64       `json:"truncated"`
	Revision     uint64       `json:"revision"`
	Peers        []PeerStatus `json:"peers"`
	// Membership is the newest Number and Change of the list of members that this node has applied; see MemberList.
	Membership MembershipStatus `json:"membership"`
	// Draining: the node takes no new clients and does not become master (PathMembersDrain).
	Draining bool `json:"draining,omitempty"`
	// Snapshot is the copy of the state that this node receives now.
	Snapshot *SnapshotStatus `json:"snapshot,omitempty"`
	// Archive is the archive of the cluster, if this node was given one.
	Archive  *ArchiveStatus `json:"archive,omitempty"`
	Disk     DiskStatus     `json:"disk"`
	Guardian Guardian       `json:"guardian"`
	Leases   LeasesStatus   `json:"leases"`
	// Able: the node could serve as master: its disk answers, it has space, it does not stand back.
	Able bool `json:"able"`
	// StandingBackMS is how long the node still makes way for others after it let go of the master lease because it got
	// nowhere; at least 1 while its disk has not answered since.
	StandingBackMS int64 `json:"standing_back_ms"`
	UptimeMS       int64 `json:"uptime_ms"`
	// FeatureLevel is the cluster's, as this node has applied it; see Upgrade.
	FeatureLevel uint64 `json:"feature_level"`
	ACL          bool   `json:"acl"` // this node refuses what no token allows
	// Absence is what the cluster would be without this node; nil: the node does not take part yet.
	Absence *Absence `json:"absence,omitempty"`
	// Full lists the members whose disks are short of space, as the node knows it: itself, and those connected to it.
	Full []uint64 `json:"full"`
	// Problem says why the node does not work as it should. Examples: it takes no part (its Role is RoleNone then), it
	// hears no majority of the voters, its disk is short of space, or the members look for it at another address.
	Problem string `json:"problem,omitempty"`
}

// Absence is what the cluster would be without a node, as far as that node has heard. It is a hint: another node may be
// lost right after.
type Absence struct {
	// Harmless: if the node is stopped now, the others elect a master and go on.
	Harmless bool `json:"harmless"`
	// WaitMS is in how long that will be so; -1: that cannot be told, or too few voters are heard.
	WaitMS int64 `json:"wait_ms"`
	// Why the others cannot go on yet; empty if Harmless.
	Why string `json:"why,omitempty"`
}

// MembershipStatus says which list of members a node goes by.
type MembershipStatus struct {
	Number  uint64 `json:"number"`
	Change  uint64 `json:"change"`
	Settled uint64 `json:"settled"`
}

// LeaseStatus is the master lease as the node knows it: exact on its holder, a hint elsewhere (L1).
type LeaseStatus struct {
	Held         bool  `json:"held"` // by this node
	RemainingMS  int64 `json:"remaining_ms"`
	TimeMS       int64 `json:"time_ms"`       // what RemainingMS is just after a renewal: --lease-time
	QuarantineMS int64 `json:"quarantine_ms"` // how long this node's acceptor stays silent yet (A4)
	// Changes are the last beginnings and ends of this node's own tenures in its current run, oldest first.
	Changes []TenureChange `json:"changes"`
}

// The events of a TenureChange.
const (
	TenureWon  = "won"
	TenureLost = "lost"
)

// TenureChange is a beginning or an end of a tenure of the master lease by this node.
type TenureChange struct {
	Time        time.Time `json:"time"`             // by this node's wall clock
	Event       string    `json:"event"`            // TenureWon or TenureLost
	Cause       string    `json:"cause"`            // of a loss: why; of a win: how the tenure before ended
	Detail      string    `json:"detail"`           // the same as a sentence, for people
	Before      uint64    `json:"before,omitempty"` // of a win: the owner before
	OwnerlessMS int64     `json:"ownerless_ms"`     // of a win: about how long nobody owned the lease
	HeldMS      int64     `json:"held_ms"`          // of a loss: how long the tenure was
}

// LeasesStatus is this node's part for named leases.
type LeasesStatus struct {
	Records      int    `json:"records"`       // names that this node's acceptor remembers, live or not
	Waiting      int    `json:"waiting"`       // requests here that wait for a busy name
	Era          uint32 `json:"era"`           // of this run's tokens; 0: none yet, and no vote
	QuarantineMS int64  `json:"quarantine_ms"` // how long this node's acceptor stays silent about them yet (A4)
}

// Guardian is the process that outlives this node's and releases its lease (P7).
type Guardian struct {
	PID     int    `json:"pid"`               // 0: none runs
	Problem string `json:"problem,omitempty"` // why none runs
	// ReleasedHere counts live lease records that were cleared here at the word of peers' guardians, in this run.
	ReleasedHere uint64 `json:"released_here"`
}

// PeerStatus is another member as this node sees it.
type PeerStatus struct {
	Node          uint64 `json:"node"`
	Name          string `json:"name,omitempty"`
	NonVoter      bool   `json:"non_voter,omitempty"`
	PeerAddress   string `json:"peer_address"`
	ClientAddress string `json:"client_address"` // empty until it has connected once
	RedisAddress  string `json:"redis_address,omitempty"`
	Connected     bool   `json:"connected"`
	// Applied is the last slot that the peer has said to have applied. JSON calls it chosen.
	Applied     uint64 `json:"chosen"`
	LastHeardMS int64  `json:"last_heard_ms"` // -1: never in this run
	// Problem says why clients or other members may not find the member, and what to type, or why it or this node refuses
	// the connections between them; empty: nothing is known.
	Problem string `json:"problem,omitempty"`
}

// ArchiveStatus is the archive of the cluster as far as a node knows. Times are in milliseconds since 1970.
type ArchiveStatus struct {
	Target string `json:"target"`
	Active bool   `json:"active"` // this node archives
	Node   uint64 `json:"node"`   // that archives, as far as this one has heard; 0: none
	Known  bool   `json:"known"`  // how far the archive is; else the following four say nothing
	// Slot is the last one in the archive, and ReachedMS when it had been applied.
	Slot      uint64 `json:"slot"`
	ReachedMS int64  `json:"reached_ms"`
	// LagMS is the age of the oldest change that this node has applied and the archive does not have, and LagSlots how
	// many slots there are of these.
	LagMS    int64         `json:"lag_ms"`
	LagSlots uint64        `json:"lag_slots"`
	Full     *ArchivedCopy `json:"full,omitempty"`     // the newest
	Verified *ArchivedCopy `json:"verified,omitempty"` // the newest one that was verified
	// Gap is the newest gap of the archive that this node has found since it was started.
	Gap     *ArchiveGap `json:"gap,omitempty"`
	Problem string      `json:"problem,omitempty"` // why archiving fails at this node
}

// ArchiveGap is a range of slots that an archive lacks for ever, both ends included: the log was truncated before they
// could be archived. No state between the slot before First and the next full copy can be restored.
type ArchiveGap struct {
	First   uint64 `json:"first"`
	Last    uint64 `json:"last"`
	FoundMS int64  `json:"found_ms"` // when the archive went on behind it; 0: it has not yet, and the gap grows
}

// ArchivedCopy is a full copy in the archive.
type ArchivedCopy struct {
	Slot       uint64 `json:"slot"`
	Revision   uint64 `json:"revision"`
	MadeMS     int64  `json:"made_ms"`
	VerifiedMS int64  `json:"verified_ms,omitempty"` // when it was verified
}

// DiskStatus is the use of the data directory's disk.
type DiskStatus struct {
	LogBytes   int64 `json:"log_bytes"`
	StateBytes int64 `json:"state_bytes"`
	FreeBytes  int64 `json:"free_bytes"`
	QuotaBytes int64 `json:"quota_bytes"` // 0: none
}
