package acl

import "fmt"

// Named returns the permission to do what access says, read, list or write, with something of that kind. Keys are
// listed below a prefix, and all keys below one are written with write-prefix.
func Named(kind, access, name string) (Permission, error) {
	if kind == kindNames[Key] && access == "write-prefix" {
		return KeyWritePrefix(name), nil
	}
	p := Permission{Name: name}
	if !indexOf(kindNames[:], kind, &p.Kind) {
		return p, fmt.Errorf("%.40q is none of key, session, lease, agent, operator and acl", kind)
	}
	if !indexOf(accessNames[:], access, &p.Access) || p.Access == Deny || p.Access == List && p.Kind != Key {
		return p, fmt.Errorf("%.40q is no access to %s", access, kind)
	}
	if p.Prefix = p.Access == List; !p.Kind.named() {
		p.Name = ""
	}
	return p, nil
}

// indexOf sets at to the index of name in names, and reports whether it is there.
func indexOf[T ~uint8](names []string, name string, at *T) bool {
	for i, n := range names {
		if n == name && n != "" {
			*at = T(i)
			return true
		}
	}
	return false
}
