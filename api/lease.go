package api

// LeaseRequest is the body of a command on a lease. Durations are texts such as "1.5s". Each command takes some of
// the members and refuses the others.
type LeaseRequest struct {
	Name        string `json:",omitempty"` // of POST PathLeasesRenew only; elsewhere the path has it
	Owner       string // for people
	TTL         string `json:",omitempty"`
	Acquisition string `json:",omitempty"` // an id that the client chooses and never uses again
	Wait        string `json:",omitempty"` // how long to queue for a busy lease
	Grant       string `json:",omitempty"` // from the last answer
}

// LeaseGrant is a lease that was granted or renewed.
type LeaseGrant struct {
	Name   string
	Owner  string
	Token  uint64 // the fencing token; it never falls
	Grant  string // opaque, for the next renewal or the release
	TTL    string
	Waited string `json:",omitempty"` // by how much later than its request the client may count the TTL from
}

// LeaseRenewal is an entry of the answer to POST PathLeasesRenew: the grant, or why there is none.
type LeaseRenewal struct {
	Name   string
	Owner  string
	Token  uint64
	Grant  string
	TTL    string
	Waited string `json:",omitempty"`
	Code   Code   `json:",omitempty"` // why the lease was not renewed; empty if it was
	Error  string `json:",omitempty"` // the same for people
	Lost   bool   `json:",omitempty"` // with CodeLost: it has ended; any other code leaves that open
}

// LeaseBusy is the body of an answer of CodeBusy. Both members are hints.
type LeaseBusy struct {
	Owner      string
	RetryAfter string
}

// LeaseHint is what one node knows of a lease. Nothing may be decided by it.
type LeaseHint struct {
	Name      string
	Owner     string
	Token     uint64
	Remaining string
	Hint      bool // always true
}

// LeaseEntry is a lease in a LeasePage.
type LeaseEntry struct {
	Name      string
	Owner     string
	Token     uint64
	Remaining string
}

// LeasePage is what one node knows of live leases, by name.
type LeasePage struct {
	Leases []LeaseEntry
	Next   string `json:",omitempty"` // the start of the next page; empty: there is none
	Silent string `json:",omitempty"` // the node was restarted, and learns of no lease for so long
	Hint   bool   // always true
}
