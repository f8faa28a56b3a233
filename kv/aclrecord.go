package kv

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"time"
	"unicode/utf8"

	"tenure/api"
	"tenure/internal/codec"
)

// A command carries a policy or token as a policyValue or tokenValue in msgpack. The records of the state database have
// the same behind the two indexes (registerrecord.go). New fields go to the end.

type policyValue struct {
	ID, Name, Description, Rules string
}

type tokenValue struct {
	Accessor    string
	Secret      string // its hash; empty in an update
	Name        string
	Description string
	Policies    []string
	Local       bool
	Certificate string
	Created     int64
	Expires     int64
	TTL         time.Duration
}

func (p *Policy) value() *policyValue {
	return &policyValue{p.ID, p.Name, p.Description, p.Rules}
}

func (t *Token) value() *tokenValue {
	v := &tokenValue{Accessor: t.Accessor, Name: t.Name, Description: t.Description, Policies: t.Policies,
		Local: t.Local, Certificate: t.Certificate, Created: t.Created, Expires: t.Expires, TTL: t.TTL}
	if t.Secret != (SecretHash{}) {
		v.Secret = string(t.Secret[:])
	}
	return v
}

// PutPolicy returns the command that creates p, or replaces the policy of its ID. The indexes of p mean nothing.
func PutPolicy(p Policy, create bool) Command {
	return Command{Op: OpPutPolicy, HasIndex: create, Value: codec.Marshal(p.value())}
}

// PutToken returns the command that creates t, or replaces name, description, policies, flag and certificate of the
// token of its accessor. Policies may be named by ID or name.
func PutToken(t Token, create bool) Command {
	return Command{Op: OpPutToken, HasIndex: create, Value: codec.Marshal(t.value())}
}

// Bootstrap returns the command that makes t the first token. reset is 0, or the revision of the bootstrap that is to
// be repeated.
func Bootstrap(t Token, reset int64) Command {
	return Command{Op: OpBootstrap, Num: reset, Value: codec.Marshal(t.value())}
}

// IfAt returns a command that replaces or deletes a policy or token, made conditional on the ModifyIndex of what is
// there, which is at least 1.
func IfAt(c Command, index uint64) Command {
	c.HasIndex, c.Index = true, index
	return c
}

// DropPolicy returns the command that deletes a policy.
func DropPolicy(id string) Command { return Command{Op: OpDropPolicy, Value: []byte(id)} }

// DropToken returns the command that deletes a token.
func DropToken(accessor string) Command { return Command{Op: OpDropToken, Value: []byte(accessor)} }

var policyName = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9_-]{1,%d}$`, api.MaxPolicyNameBytes))

// decodePolicyValue reads what PutPolicy wrote, and returns an error unless it is a policy that can be put.
func decodePolicyValue(b []byte) (*Policy, error) {
	var v policyValue
	if err := codec.Unmarshal(b, &v); err != nil {
		return nil, err
	}
	switch {
	case !validUUID(v.ID):
		return nil, fmt.Errorf("%.40q is not the ID of a policy, a UUID in lower case", v.ID)
	case v.ID == ManagementPolicy || v.Name == management.Name:
		return nil, fmt.Errorf("the policy %s cannot be changed", management.Name)
	case !policyName.MatchString(v.Name):
		return nil, fmt.Errorf("%.140q is not the name of a policy: 1 to %d letters, digits, - and _", v.Name,
			api.MaxPolicyNameBytes)
	case !shortText(v.Description, api.MaxACLDescriptionBytes):
		return nil, fmt.Errorf("the description has more than %d bytes of UTF-8", api.MaxACLDescriptionBytes)
	case !shortText(v.Rules, api.MaxRulesBytes):
		return nil, fmt.Errorf("the rules have more than %d bytes of UTF-8", api.MaxRulesBytes)
	}
	return &Policy{ID: v.ID, Name: v.Name, Description: v.Description, Rules: v.Rules}, nil
}

// decodeTokenValue reads what PutToken wrote, and returns an error unless it is a token that can be put.
func decodeTokenValue(b []byte) (*Token, error) {
	var v tokenValue
	if err := codec.Unmarshal(b, &v); err != nil {
		return nil, err
	}
	t := &Token{Accessor: v.Accessor, Name: v.Name, Description: v.Description, Policies: v.Policies, Local: v.Local,
		Certificate: v.Certificate, Created: v.Created, Expires: v.Expires, TTL: v.TTL}
	copy(t.Secret[:], v.Secret)
	switch {
	case !validUUID(v.Accessor):
		return nil, fmt.Errorf("%.40q is not the accessor of a token, a UUID in lower case", v.Accessor)
	case len(v.Secret) != 0 && len(v.Secret) != len(t.Secret):
		return nil, fmt.Errorf("the hash of a secret has %d bytes, must have %d", len(v.Secret), len(t.Secret))
	case !shortText(v.Name, api.MaxTokenNameBytes), !shortText(v.Description, api.MaxACLDescriptionBytes),
		!shortText(v.Certificate, api.MaxCertificateNameBytes):
		return nil, fmt.Errorf("name, description and certificate of a token have at most %d, %d and %d bytes of UTF-8",
			api.MaxTokenNameBytes, api.MaxACLDescriptionBytes, api.MaxCertificateNameBytes)
	case len(v.Policies) > api.MaxTokenPolicies:
		return nil, fmt.Errorf("a token has at most %d policies", api.MaxTokenPolicies)
	case v.TTL < 0 || v.TTL > MaxTTL || v.Created < 0 || v.Expires < 0 || (v.TTL == 0) != (v.Expires == 0):
		return nil, fmt.Errorf("the times of a token: created %d, expires %d, after %v", v.Created, v.Expires, v.TTL)
	}
	for _, link := range v.Policies {
		if !shortText(link, api.MaxPolicyNameBytes) {
			return nil, fmt.Errorf("a token's policy %.140q is no ID and no name", link)
		}
	}
	return t, nil
}

func shortText(s string, limit int) bool { return len(s) <= limit && utf8.ValidString(s) }

// validateACL checks what a command about tokens and policies carries.
func (c *Command) validateACL() error {
	var err error
	var t *Token
	switch c.Op {
	case OpPutPolicy:
		_, err = decodePolicyValue(c.Value)
	case OpPutToken:
		t, err = decodeTokenValue(c.Value)
		if err == nil && c.creates() != (t.Secret != SecretHash{}) {
			err = fmt.Errorf("a secret is given when a token is created, and only then")
		}
		if err == nil && !c.creates() && (t.Created|t.Expires != 0) {
			err = fmt.Errorf("the times of a token are given when it is created, and only then")
		}
	case OpBootstrap:
		t, err = decodeTokenValue(c.Value)
		if err == nil && (t.Secret == SecretHash{} || len(t.Policies) > 0 || c.Num < 0) {
			err = fmt.Errorf("the first token has a secret and no policies of its own")
		}
	case OpDropPolicy, OpDropToken, OpEndToken:
		if id := string(c.Value); !validUUID(id) || id == ManagementPolicy || id == AnonymousToken {
			err = fmt.Errorf("%.40q is not the ID of what can be deleted", id)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCommand, err)
	}
	return nil
}

func appendPolicy(buf []byte, p *Policy) []byte {
	return codec.Append(appendIndexes(buf, p.CreateIndex, p.ModifyIndex), p.value())
}

func appendToken(buf []byte, t *Token) []byte {
	return codec.Append(appendIndexes(buf, t.CreateIndex, t.ModifyIndex), t.value())
}

func appendIndexes(buf []byte, create, modify uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(append(buf, recordVersion), create), modify)
}

// cutIndexes takes version and indexes off a record.
func cutIndexes(b []byte) (create, modify uint64, rest []byte, ok bool) {
	r := reader{b: b}
	r.version()
	create, modify = r.uvarint(), r.uvarint()
	return create, modify, r.b, !r.bad && create != 0 && modify >= create
}

// ReadPolicy returns the policy in a record of KindPolicy; key is its ID.
func ReadPolicy(key, record []byte) (*Policy, error) {
	create, modify, rest, ok := cutIndexes(record)
	p, err := decodePolicyValue(rest)
	if !ok || err != nil || p.ID != string(key) {
		return nil, damaged("policy %q: %w", key, errRecord)
	}
	p.CreateIndex, p.ModifyIndex = create, modify
	return p, nil
}

// ReadToken returns the token in a record of KindToken; key is its accessor.
func ReadToken(key, record []byte) (*Token, error) {
	create, modify, rest, ok := cutIndexes(record)
	t, err := decodeTokenValue(rest)
	if !ok || err != nil || t.Accessor != string(key) || t.Secret == (SecretHash{}) {
		return nil, damaged("token %q: %w", key, errRecord)
	}
	t.CreateIndex, t.ModifyIndex = create, modify
	return t, nil
}

// loadPolicy adds the policy in a record of KindPolicy.
func (a *ACL) loadPolicy(id string, b []byte) error {
	p, err := ReadPolicy([]byte(id), b)
	if err != nil {
		return err
	}
	if p.ModifyIndex > a.revision {
		return damaged("policy %q: %w", id, errRecord)
	}
	if _, twice := a.names.Get(p.Name); twice {
		return damaged("policy %q: its name is there twice", id)
	}
	a.putPolicy(p)
	return nil
}

// loadToken adds the token in a record of KindToken.
func (a *ACL) loadToken(accessor string, b []byte) error {
	t, err := ReadToken([]byte(accessor), b)
	if err != nil {
		return err
	}
	if t.ModifyIndex > a.revision {
		return damaged("token %q: %w", accessor, errRecord)
	}
	if other, twice := a.TokenOfSecret(t.Secret); twice && other.Accessor != accessor {
		return damaged("token %q: its secret is there twice", accessor)
	}
	if _, twice := a.TokenOfCertificate(t.Certificate); twice {
		return damaged("token %q: its certificate is there twice", accessor)
	}
	a.put(t)
	return nil
}

// withoutTimes returns the Value of c without the times that a node reads from its clock.
func (c *Command) withoutTimes() []byte {
	if c.Op != OpPutToken && c.Op != OpBootstrap {
		return c.Value
	}
	t, err := decodeTokenValue(c.Value)
	if err != nil {
		return c.Value
	}
	t.Created, t.Expires, t.TTL = 0, 0, 0
	return codec.Marshal(t.value())
}

// PolicyOf returns the policy that a valid command writes; nil if it writes none.
func PolicyOf(c *Command) *Policy {
	if c.Op != OpPutPolicy {
		return nil
	}
	p, _ := decodePolicyValue(c.Value)
	return p
}

// TokenOf returns the token that a valid command writes; nil if it writes none.
func TokenOf(c *Command) *Token {
	if c.Op != OpPutToken && c.Op != OpBootstrap {
		return nil
	}
	t, _ := decodeTokenValue(c.Value)
	return t
}

// ACLSubject returns the ID of the policy, or the accessor of the token, that a valid command is about; "" for other
// commands.
func (c *Command) ACLSubject() string {
	switch c.Op {
	case OpPutPolicy:
		if p, err := decodePolicyValue(c.Value); err == nil {
			return p.ID
		}
	case OpPutToken, OpBootstrap:
		if t, err := decodeTokenValue(c.Value); err == nil {
			return t.Accessor
		}
	case OpDropPolicy, OpDropToken, OpEndToken:
		return string(c.Value)
	}
	return ""
}
