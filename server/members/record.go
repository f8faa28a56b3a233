package members

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/codec"
	"tenure/internal/ident"
	"tenure/internal/quorum"
)

// Record is what the cluster has agreed on about its members. It is a value: no function here changes the elements of
// the slices of a given record.
type Record struct {
	Membership ident.Membership
	// Settled is the newest Number under which no lease of an older one can be live any more.
	Settled uint64
	// NextNode is the id that the next member gets. It only rises.
	NextNode ballot.NodeID
	// Operations are the last finished ones, oldest first, and behind them the one that runs, if one does.
	Operations operations
	// Before holds the voters of the Number before Membership's while that is not settled, and else nobody.
	Before []ident.Member
	Spares []Spare // by rising node id
	// Removed are the names of members that were removed, oldest first, each once, and none that a member has. Beyond
	// MaxRemoved the oldest is forgotten.
	Removed []string
}

// Spare is a non-voter that may take the place of a voter that was not heard for ReplaceAfter; 0: of none.
type Spare struct {
	Node         ballot.NodeID
	ReplaceAfter time.Duration
}

// Bounds of a record, beside those of a membership.
const (
	MaxOperations   = 32 // finished ones that are remembered
	MaxIDBytes      = 128
	MaxAddressBytes = 255
	MaxProblemBytes = 512
	MaxRemoved      = 256 // names of removed members
	maxRecordBytes  = 256 << 10
)

// ErrRecord is wrapped by every error of Decode.
var ErrRecord = errors.New("members: malformed record")

// First returns the record of a cluster whose members have never changed: m is what bootstrap wrote.
func First(m ident.Membership) Record {
	r := Record{Membership: m, Settled: m.Number}
	for _, x := range m.All() {
		r.NextNode = max(r.NextNode, x.Node)
	}
	r.NextNode++
	return r
}

// Encode returns the bytes of r. Fields are only ever added at the end.
func (r Record) Encode() []byte { return codec.Marshal(&r) }

// Decode returns the record in b, checked against every bound. An error wraps ErrRecord.
func Decode(b []byte) (Record, error) {
	var r Record
	if len(b) > maxRecordBytes {
		return r, fmt.Errorf("%w: %d bytes", ErrRecord, len(b))
	}
	if err := codec.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	if why := r.check(); why != "" {
		return Record{}, fmt.Errorf("%w: %s", ErrRecord, why)
	}
	return r, nil
}

// check returns the problem with r, or "".
func (r *Record) check() string {
	m := &r.Membership
	switch {
	case m.Number == 0 || r.Settled > m.Number || r.Settled+1 < m.Number:
		return fmt.Sprintf("membership %d with settled %d", m.Number, r.Settled)
	case len(m.Members) == 0 || len(m.Members) > quorum.MaxVoters || len(r.Before) > quorum.MaxVoters:
		return fmt.Sprintf("%d voters after %d", len(m.Members), len(r.Before))
	case len(m.NonVoters) > ident.MaxNonVoters || len(r.Spares) > ident.MaxNonVoters:
		return fmt.Sprintf("%d non-voters, %d spares", len(m.NonVoters), len(r.Spares))
	case len(r.Operations) > MaxOperations+1:
		return fmt.Sprintf("%d operations", len(r.Operations))
	case len(r.Removed) > MaxRemoved:
		return fmt.Sprintf("%d names of removed members", len(r.Removed))
	case !rising(m.Members) || !rising(m.NonVoters) || !rising(r.Before):
		return "members out of order"
	}
	for _, x := range m.All() {
		if why := checkMember(x); why != "" || x.Node >= r.NextNode {
			return fmt.Sprintf("member %d, next %d: %s", x.Node, r.NextNode, why)
		}
	}
	for _, x := range m.NonVoters {
		if m.Voters().Has(x.Node) {
			return fmt.Sprintf("member %d is listed twice", x.Node)
		}
	}
	for _, name := range r.Removed {
		if name == "" || len(name) > ident.MaxNameBytes {
			return fmt.Sprintf("a removed member with a name of %d bytes", len(name))
		}
	}
	for i := range r.Operations {
		o := &r.Operations[i]
		if why := o.check(); why != "" {
			return fmt.Sprintf("operation %d: %s", i, why)
		}
		if o.State == Running && i != len(r.Operations)-1 {
			return "an operation runs behind which others are"
		}
	}
	return ""
}

func rising(ms []ident.Member) bool {
	for i := range ms {
		if ms[i].Node == 0 || ms[i].Node > ballot.MaxNodeID || i > 0 && ms[i-1].Node >= ms[i].Node {
			return false
		}
	}
	return true
}

func checkMember(m ident.Member) string {
	switch {
	case len(m.Name) > ident.MaxNameBytes:
		return fmt.Sprintf("a name is at most %d bytes long", ident.MaxNameBytes)
	case len(m.PeerAddr) > MaxAddressBytes || len(m.ClientAddr) > MaxAddressBytes:
		return fmt.Sprintf("an address is at most %d bytes long", MaxAddressBytes)
	}
	return ""
}

// checkShown returns the problem with a member's new name or addresses, or "". All nodes display them, and join
// messages accept no others. A name cannot be a number, since on a command line a number is a node's id.
func checkShown(m ident.Member) string {
	switch _, err := strconv.ParseUint(m.Name, 10, 64); {
	case err == nil:
		return fmt.Sprintf("the name %s is a number, as ids are; choose another one", m.Name)
	case !ident.Plain(m.Name, ident.MaxNameBytes):
		return fmt.Sprintf("a name is at most %d characters of ASCII, without spaces", ident.MaxNameBytes)
	case !ident.Plain(m.PeerAddr, MaxAddressBytes) || !ident.Plain(m.ClientAddr, MaxAddressBytes):
		return fmt.Sprintf("an address is at most %d characters of ASCII, without spaces", MaxAddressBytes)
	}
	return ""
}

// IsSettled reports whether the voters may change again.
func (r Record) IsSettled() bool { return r.Settled == r.Membership.Number }

// Running returns the operation that is under way.
func (r Record) Running() (Operation, bool) {
	if o := r.Operations.running(); o != nil {
		return *o, true
	}
	return Operation{}, false
}

// Operation returns the operation of that id, if it is remembered.
func (r Record) Operation(id string) (Operation, bool) {
	i := slices.IndexFunc(r.Operations, func(o Operation) bool { return o.ID == id })
	if i < 0 {
		return Operation{}, false
	}
	return r.Operations[i], true
}

// Spare returns the spare of that id.
func (r Record) Spare(node ballot.NodeID) (Spare, bool) {
	i := slices.IndexFunc(r.Spares, func(s Spare) bool { return s.Node == node })
	if i < 0 {
		return Spare{}, false
	}
	return r.Spares[i], true
}

// NameOf returns the name of a member as people see it.
func NameOf(m ident.Member) string {
	if m.Name != "" {
		return m.Name
	}
	return fmt.Sprintf("node-%d", m.Node)
}

// Named returns the member of that name. If a replaced member and its successor share the name, it returns the older
// one.
func (r Record) Named(name string) (ident.Member, bool) {
	for _, x := range r.Membership.All() {
		if NameOf(x) == name {
			return x, true
		}
	}
	return ident.Member{}, false
}

// Roster returns the transport's view of the present and removed members.
func (r Record) Roster() ident.Roster {
	return ident.Roster{Membership: r.Membership, NextNode: r.NextNode, Removed: r.Removed}
}

// WithStore returns the member whose data directory that is.
func (r Record) WithStore(store ident.StoreID) (ident.Member, bool) {
	for _, x := range r.Membership.All() {
		if x.Store == store && !store.IsZero() {
			return x, true
		}
	}
	return ident.Member{}, false
}

// Equal reports whether r and o are the same record.
func (r Record) Equal(o Record) bool { return string(r.Encode()) == string(o.Encode()) }
