package api

// The kinds of changes of the members. Each is one operation, which the cluster carries out in several steps and goes
// on with after a change of master.
const (
	ChangeAdd     = "add"     // a node joins; it becomes a voter once it is caught up, unless it is to be a non-voter
	ChangeRemove  = "remove"  // a member leaves
	ChangeReplace = "replace" // a non-voter takes the place of a voter, which leaves
	ChangePromote = "promote" // a non-voter becomes a voter once it is caught up
	ChangeUpdate  = "update"  // a member gets another name or other addresses
	ChangeReadmit = "readmit" // the name of a removed member is free again
)

// The states of a MemberOperation.
const (
	OperationRunning   = "running"
	OperationDone      = "done"
	OperationFailed    = "failed" // it changed no more than its steps before, which Problem tells
	OperationCancelled = "cancelled"
)

// MemberRequest is the body of a POST about members. Each path takes some of the members of it and refuses the others:
//
//	PathMembersAdd      name, peer_address, client_address, non_voter, and store, without which only dry_run is taken
//	PathMembersRemove   node, force_quorum_loss, differs
//	PathMembersReplace  node, by
//	PathMembersPromote  node
//	PathMembersUpdate   node, and at least one of name, peer_address, client_address
//	PathMembersReadmit  name
//	PathMembersCancel   operation
//	PathMembersDrain    node, and off or force
//
// All but the last two take operation and dry_run too.
type MemberRequest struct {
	// Operation names the operation. The client chooses it, never uses it again, and repeats it when it asks again: the
	// operation is begun once, and every answer is about it. Empty: the node draws one.
	Operation string `json:"operation,omitempty"`
	// DryRun: nothing is changed; the answer is a MemberPlan.
	DryRun bool `json:"dry_run,omitempty"`
	// Node is the member that the request is about.
	Node uint64 `json:"node,omitempty"`
	// By is the non-voter that takes the place of Node; 0: the cluster chooses a spare that is caught up. If there is
	// none, the next node takes the place that joins under the name of Node.
	By            uint64 `json:"by,omitempty"`
	Name          string `json:"name,omitempty"`
	PeerAddress   string `json:"peer_address,omitempty"`
	ClientAddress string `json:"client_address,omitempty"`
	// Store is the id of the joining node's data directory, in hexadecimal. A node that joins sends it by itself.
	Store    string `json:"store,omitempty"`
	NonVoter bool   `json:"non_voter,omitempty"`
	// ForceQuorumLoss is how many of the remaining voters are alive, as the client believes. If the number is right, it
	// allows a removal after which no majority is alive.
	ForceQuorumLoss int `json:"force_quorum_loss,omitempty"`
	// Differs says that the state of Node is the wrong one, while the states of voters differ and no majority tells
	// which is right. Only with it a voter that differs is removed.
	Differs bool `json:"differs,omitempty"`
	// Off ends a drain.
	Off bool `json:"off,omitempty"`
	// Force drains the node though no other voter could be master then, or too few would be alive once it is stopped.
	Force bool `json:"force,omitempty"`
}

// MemberList is the answer to GET PathMembers: the members as the node that answers has applied them, and what it knows
// of each.
type MemberList struct {
	Cluster string `json:"cluster"`
	Node    uint64 `json:"node"`   // that answers
	Master  uint64 `json:"master"` // as far as that node knows; 0: it knows none
	// Number rises with every change of the voters, Change with every change of the list. Of two lists of one cluster,
	// the one with the larger Change is newer.
	Number uint64 `json:"number"`
	Change uint64 `json:"change"`
	// Settled is the newest Number under which no lease of an older one can be live any more (see docs/members.md). The
	// voters are not changed again before it is Number.
	Settled uint64 `json:"settled"`
	Era     uint32 `json:"era"` // of the tokens of leases, allotted with Number
	// Members are the voters and non-voters, by node.
	Members []Member `json:"members"`
	// Removed are the names of members that were removed, oldest first, and that no member has: without
	// PathMembersReadmit no node joins with a certificate of one of them.
	Removed []string `json:"removed"`
	// Operations are the one that runs, if one does, and the last that have ended, newest first.
	Operations []MemberOperation `json:"operations"`
}

// Member is a member of the cluster.
type Member struct {
	Node  uint64 `json:"node"`
	Name  string `json:"name"`
	Voter bool   `json:"voter"`
	// PeerAddress and ClientAddress are as the member advertises them; empty: not known. A node that listens for no
	// other nodes, so that none can join it, lists itself without PeerAddress.
	PeerAddress   string `json:"peer_address"`
	ClientAddress string `json:"client_address"`
	Store         string `json:"store"` // id of its data directory
	Spare         bool   `json:"spare,omitempty"`
	Draining      bool   `json:"draining,omitempty"` // it takes no new clients and does not become master
	// Connected: the node that answers hears the member now; true of itself.
	Connected   bool   `json:"connected"`
	LastHeardMS int64  `json:"last_heard_ms"` // -1: never in this run
	Applied     uint64 `json:"applied"`
	Lag         uint64 `json:"lag"` // how many chosen slots it has not applied yet
	// Snapshot is the copy of the state that the member receives now.
	Snapshot *SnapshotStatus `json:"snapshot,omitempty"`
}

// SnapshotStatus is how far a member is with a copy of the state of another one.
type SnapshotStatus struct {
	From       uint64 `json:"from"` // the member that sends it
	Slot       uint64 `json:"slot"` // of the copy
	Bytes      int64  `json:"bytes"`
	TotalBytes int64  `json:"total_bytes"` // about; 0: not known
	Installing bool   `json:"installing"`  // it is whole, and takes the place of the state
}

// MemberOperation is a change of the members that was begun.
type MemberOperation struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	// Node is the member that the operation is about: who leaves, is promoted or updated, or joins. By is the one that
	// takes its place.
	Node  uint64 `json:"node"`
	By    uint64 `json:"by,omitempty"`
	Name  string `json:"name,omitempty"` // that is readmitted
	State string `json:"state"`
	// Step says in a sentence what the operation waits for now.
	Step string `json:"step,omitempty"`
	// WaitMS is about how long it still waits until the last change of the voters is settled; 0: not known, or it does
	// not wait for that.
	WaitMS int64 `json:"wait_ms,omitempty"`
	// Problem says why the operation failed or gets nowhere.
	Problem string `json:"problem,omitempty"`
}

// MemberPlan is the answer to a dry run: what the operation would do, and what the cluster survives before, meanwhile
// and after.
type MemberPlan struct {
	Kind      string    `json:"kind"`
	Steps     []string  `json:"steps"` // sentences, in order
	Before    Tolerance `json:"before"`
	Meanwhile Tolerance `json:"meanwhile"` // at the worst moment
	After     Tolerance `json:"after"`
}

// Tolerance is what a set of voters survives.
type Tolerance struct {
	Voters int `json:"voters"`
	Alive  int `json:"alive"` // as far as the node that answers knows
	// Failures is how many more of those alive may fail while a majority stays; negative: there is none.
	Failures int `json:"failures"`
}
