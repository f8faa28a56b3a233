package acl

import "strconv"

// Permission is one thing that a request needs.
type Permission struct {
	Kind   Kind
	Access Access // Read, List or Write
	Name   string // empty if the kind has no names
	Prefix bool   // for all names that begin with Name, rather than for Name
}

// KeyRead is needed to see the key, its value, and that it exists.
func KeyRead(key string) Permission { return Permission{Kind: Key, Access: Read, Name: key} }

// KeyReadPrefix is what makes every key that begins with prefix readable, so that none must be left out.
func KeyReadPrefix(prefix string) Permission {
	return Permission{Kind: Key, Access: Read, Name: prefix, Prefix: true}
}

// KeyList is Consul's permission to list below prefix. As there, only the rule for the prefix must grant List: rules
// for longer names may still deny listed keys.
func KeyList(prefix string) Permission {
	return Permission{Kind: Key, Access: List, Name: prefix, Prefix: true}
}

// KeyWrite is needed to write, delete, lock or unlock the key.
func KeyWrite(key string) Permission { return Permission{Kind: Key, Access: Write, Name: key} }

// KeyWritePrefix is needed to delete everything below prefix: no rule for a key or a prefix below it grants less.
func KeyWritePrefix(prefix string) Permission {
	return Permission{Kind: Key, Access: Write, Name: prefix, Prefix: true}
}

// SessionRead is needed to see a session of the node.
func SessionRead(node string) Permission { return Permission{Kind: Session, Access: Read, Name: node} }

// SessionWrite is needed to create, renew or destroy a session of the node. To lock a key with one needs KeyWrite only.
func SessionWrite(node string) Permission {
	return Permission{Kind: Session, Access: Write, Name: node}
}

// LeaseRead is needed to see who owns the lease.
func LeaseRead(name string) Permission { return Permission{Kind: Lease, Access: Read, Name: name} }

// LeaseWrite is needed to acquire, renew or release the lease.
func LeaseWrite(name string) Permission { return Permission{Kind: Lease, Access: Write, Name: name} }

// AgentRead is needed to see the metrics of the node, and what clients of Consul ask their agent about itself.
func AgentRead(node string) Permission { return Permission{Kind: Agent, Access: Read, Name: node} }

// OperatorRead is needed to see how the cluster is run.
func OperatorRead() Permission { return Permission{Kind: Operator, Access: Read} }

// OperatorWrite is needed to change how the cluster is run.
func OperatorWrite() Permission { return Permission{Kind: Operator, Access: Write} }

// ACLRead is needed to see tokens and policies.
func ACLRead() Permission { return Permission{Kind: ACL, Access: Read} }

// ACLWrite is needed to change tokens and policies, and so is enough to be allowed anything.
func ACLWrite() Permission { return Permission{Kind: ACL, Access: Write} }

// String returns the permission in words, the first of them as Consul writes them: 'key:write' on "a".
func (p Permission) String() string {
	s := "'" + p.Kind.String() + ":" + p.Access.String() + "'"
	switch {
	case !p.Kind.named():
		return s
	case !p.Prefix:
		return s + " on " + strconv.Quote(p.Name)
	case p.Name == "":
		return s + " on every " + p.Kind.String()
	}
	return s + " on everything that begins with " + strconv.Quote(p.Name)
}

// DeniedError says what is missing.
type DeniedError struct {
	Missing Permission
}

// Error returns the permission in words.
func (e *DeniedError) Error() string { return "lacks permission " + e.Missing.String() }
