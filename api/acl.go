package api

import "time"

// The policies and tokens that every cluster with tokens has, under Consul's ids and names. They cannot be deleted.
const (
	ManagementPolicyID   = "00000000-0000-0000-0000-000000000001"
	ManagementPolicyName = "global-management" // allows everything; its rules cannot be changed
	// AnonymousAccessor is the accessor of the token of a request that carries none. Whatever policies it is given are
	// given to everybody who reaches a node.
	AnonymousAccessor = "00000000-0000-0000-0000-000000000002"
)

// HiddenSecret stands for SecretID in every answer but that which makes the token: the cluster keeps a hash only.
const HiddenSecret = "<hidden>"

// The texts with which the body of an answer of CodeDenied or CodeUnknownToken begins. Consul's clients look for them.
const (
	TextDenied       = "Permission denied"
	TextUnknownToken = "ACL not found"
)

// ACLLink names a policy. A request gives the ID or the Name, or both if they are of one policy.
type ACLLink struct {
	ID   string `json:",omitempty"`
	Name string `json:",omitempty"`
}

// BootstrapRequest is the body of PUT PathACLBootstrap, which may be empty. The answer is the Token.
type BootstrapRequest struct {
	BootstrapSecret string `json:",omitempty"` // of the token, a UUID; empty: the node draws one
}

// TokenRequest is the body of PUT PathACLToken and of PUT PathACLTokens followed by an accessor. Nodes take the other
// members of Consul's too where they are empty, and ExpirationTTL as a number of nanoseconds.
type TokenRequest struct {
	AccessorID  string    `json:",omitempty"` // a UUID; empty: the node draws one. An update may repeat it
	SecretID    string    `json:",omitempty"` // likewise; it cannot be changed
	Name        string    `json:",omitempty"`
	Description string    `json:",omitempty"`
	Policies    []ACLLink `json:",omitempty"`
	Local       bool      `json:",omitempty"` // taken and shown; there is one datacenter
	// Certificate is the name of a client certificate that stands for this token: its first URI, or its common name.
	Certificate   string `json:",omitempty"`
	ExpirationTTL string `json:",omitempty"` // only when the token is made; empty: it does not expire
	// ExpirationTime is another way to say ExpirationTTL.
	ExpirationTime *time.Time `json:",omitempty"`
}

// CloneRequest is the body of PUT PathACLToken with the accessor and ACLClone, which may be empty. The answer is the
// new Token, with the policies of the old one. It expires when the old one does, and no certificate stands for it.
type CloneRequest struct {
	Description string `json:",omitempty"` // empty: that of the old one
}

// Token is a token as it is shown. SecretID gives the rights of the policies to anybody who knows it; AccessorID is the
// token's name, which need not be kept secret.
type Token struct {
	AccessorID     string
	SecretID       string // HiddenSecret, but for the answer that makes the token
	Name           string `json:",omitempty"`
	Description    string
	Policies       []ACLLink `json:",omitempty"`
	Local          bool
	Certificate    string     `json:",omitempty"`
	ExpirationTime *time.Time `json:",omitempty"` // nil: it does not expire
	// LastUsed is when the answering node last allowed it something, to within a second; nil: not since that node started.
	LastUsed    *time.Time `json:",omitempty"`
	CreateTime  time.Time
	Hash        []byte // changes with what the token allows
	CreateIndex uint64
	ModifyIndex uint64
}

// TokenExpanded is the answer to GET PathACLTokens followed by an accessor, with QueryExpanded.
type TokenExpanded struct {
	ExpandedPolicies []Policy
	Token
}

// TokenListEntry is a token in the answer to GET PathACLTokenList.
type TokenListEntry struct {
	AccessorID     string
	SecretID       string // HiddenSecret
	Name           string `json:",omitempty"`
	Description    string
	Policies       []ACLLink `json:",omitempty"`
	Local          bool
	Certificate    string     `json:",omitempty"`
	ExpirationTime *time.Time `json:",omitempty"`
	// LastUsed is when the answering node last allowed it something, to within a second; nil: not since that node started.
	LastUsed    *time.Time `json:",omitempty"`
	CreateTime  time.Time
	Hash        []byte
	CreateIndex uint64
	ModifyIndex uint64
}

// PolicyRequest is the body of PUT PathACLPolicy and of PUT PathACLPolicies followed by an id. The answer is the
// Policy.
type PolicyRequest struct {
	ID          string   `json:",omitempty"` // empty when it is made; an update may repeat it
	Name        string   // letters, digits, - and _
	Description string   `json:",omitempty"`
	Rules       string   `json:",omitempty"` // HCL or JSON, see docs/security.md
	Datacenters []string `json:",omitempty"` // taken and shown; there is one datacenter
}

// ACLQuestion is an element of the body of POST PathACLAuthorize: whether the token of the request has a permission.
type ACLQuestion struct {
	Resource string // key, session, lease, agent, operator or acl
	Access   string // read, list or write, or write-prefix of all keys that start with Segment
	Segment  string `json:",omitempty"` // the name, as rules have it
}

// ACLAnswer is an element of its answer. It is what one node has applied, and so a hint.
type ACLAnswer struct {
	ACLQuestion
	Allow bool
}

// TokenUses is the answer to POST PathACLUses, whose body is a list of at most MaxTokenUses accessors: when the tokens
// were last used, as all members tell it.
type TokenUses struct {
	Uses []TokenUse `json:"uses"` // in the order of the accessors
	// Silent are the members that told nothing. A token may have been used there later.
	Silent []uint64 `json:"silent"`
}

// TokenUse is when a member last allowed a token something, to within a second, by the clock of that member.
type TokenUse struct {
	Accessor string     `json:"accessor"`
	LastUsed *time.Time `json:"last_used,omitempty"` // nil: not since the members that told were started
	Node     uint64     `json:"node,omitempty"`      // the member that told of it
}

// Policy is a named set of rules.
type Policy struct {
	ID          string
	Name        string
	Description string
	Rules       string
	Datacenters []string `json:",omitempty"`
	Hash        []byte   // changes with the policy
	CreateIndex uint64
	ModifyIndex uint64
}

// PolicyListEntry is a policy in the answer to GET PathACLPolicyList.
type PolicyListEntry struct {
	ID          string
	Name        string
	Description string
	Datacenters []string `json:",omitempty"`
	Hash        []byte
	CreateIndex uint64
	ModifyIndex uint64
}
