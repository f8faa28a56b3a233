package acl

// Authorizer decides by the rules of some policies. It is not changed once it is made, and may be used by several
// goroutines. The zero Authorizer, and a nil one, deny everything.
type Authorizer struct {
	named  [Operator]table
	single [kinds]Access // of the kinds without names; 0: no rule
}

// Compile returns an authorizer for a token with the policies.
func Compile(policies ...*Policy) *Authorizer {
	a := &Authorizer{}
	for _, p := range policies {
		for _, r := range p.Rules {
			a.add(r)
		}
	}
	for i := range a.named {
		t := &a.named[i]
		t.exact, t.prefix = build(t.exact), build(t.prefix)
	}
	return a
}

func (a *Authorizer) add(r Rule) {
	if !r.Kind.named() {
		a.single[r.Kind] = max(a.single[r.Kind], r.Access)
		return
	}
	t := &a.named[r.Kind]
	e := entry{name: r.Name, access: r.Access}
	if r.Prefix {
		t.prefix = append(t.prefix, e)
	} else {
		t.exact = append(t.exact, e)
	}
}

// Allows reports whether the policies allow p.
func (a *Authorizer) Allows(p Permission) bool {
	if a == nil {
		return false
	}
	if !p.Kind.named() {
		granted := a.single[p.Kind]
		return granted != 0 && granted.allows(p.Access)
	}
	t := &a.named[p.Kind]
	if !p.Prefix {
		granted, ok := t.governs(p.Name)
		return ok && granted.allows(p.Access)
	}
	granted, ok := t.governsPrefix(p.Name)
	if !ok || !granted.allows(p.Access) {
		return false
	}
	return p.Access == List || allow(t.exact, p.Name, p.Access) && allow(t.prefix, p.Name, p.Access)
}

// AllowsSome reports whether p is allowed for any name that begins with p.Name.
func (a *Authorizer) AllowsSome(p Permission) bool {
	if a == nil {
		return false
	}
	t := &a.named[p.Kind]
	granted, ok := t.governsPrefix(p.Name)
	return ok && granted.allows(p.Access) || some(t.exact, p.Name, p.Access) || some(t.prefix, p.Name, p.Access)
}

// Check returns nil if the policies allow all of needed, and otherwise a *DeniedError that says which is missing, the
// first one.
func (a *Authorizer) Check(needed ...Permission) error {
	for _, p := range needed {
		if !a.Allows(p) {
			return &DeniedError{Missing: p}
		}
	}
	return nil
}
