package acl

// Access is what a rule grants. Of two rules for the same name in different policies, the larger wins.
type Access uint8

// The accesses that a rule may grant. Except for Deny, each includes the ones before it.
const (
	Read  Access = iota + 1
	List         // of keys only: names under a prefix, as a whole
	Write        // everything
	Deny         // nothing
)

var accessNames = [...]string{Read: "read", List: "list", Write: "write", Deny: "deny"}

// String returns the name as rules have it.
func (a Access) String() string { return accessNames[a] }

// allows reports whether a rule that grants a allows want, which is Read, List or Write.
func (a Access) allows(want Access) bool { return a != Deny && a >= want }

// Kind is what a rule is about.
type Kind uint8

// The kinds of rules. Those from Operator on have no names: there is one rule of the kind in a policy.
const (
	Key      Kind = iota // by the key
	Session              // by the node that the session names
	Lease                // by the name of the lease
	Agent                // by the name of the node: what it tells of itself
	Operator             // members, backups, transfers of mastership and the like
	ACL                  // tokens and policies
	kinds                // how many there are
)

var kindNames = [...]string{Key: "key", Session: "session", Lease: "lease", Agent: "agent", Operator: "operator", ACL: "acl"}

// String returns the name as rules have it.
func (k Kind) String() string { return kindNames[k] }

// named reports whether rules of the kind are for names.
func (k Kind) named() bool { return k < Operator }

// Rule is one rule of a policy.
type Rule struct {
	Kind   Kind
	Prefix bool   // it is for all names that begin with Name, rather than for Name
	Name   string // empty if the kind has no names
	Access Access
}

// Policy is the rules of a policy, none of them for the same as another.
type Policy struct {
	Rules []Rule // in the order in which they were written
}

// ManagementRules are the rules of the policy that allows everything.
const ManagementRules = `acl = "write"
operator = "write"
key_prefix "" {
  policy = "write"
}
session_prefix "" {
  policy = "write"
}
lease_prefix "" {
  policy = "write"
}
agent_prefix "" {
  policy = "write"
}
`
