package access

import (
	"errors"
	"fmt"

	"tenure/api"
	"tenure/server/acl"
)

// ErrUnknownToken means that there is no token with the secret of the request: it was deleted, has expired or never
// was.
var ErrUnknownToken = errors.New(api.TextUnknownToken +
	": there is no token with this secret: it was deleted, has expired, or never was")

// ErrUnsure is wrapped by errors that mean: this node's state does not allow the request, and the node cannot find out
// now whether a newer state does.
var ErrUnsure = errors.New("not decided whether this is allowed")

// DeniedError says that a token does not allow something.
type DeniedError struct {
	Accessor string // of the token
	Missing  acl.Permission
	Some     bool // it is missing for every name that begins with Missing.Name
}

// Error returns a sentence that begins as Consul's does.
func (e *DeniedError) Error() string {
	who := fmt.Sprintf("token with AccessorID '%s'", e.Accessor)
	if e.Accessor == api.AnonymousAccessor {
		who = "anonymous token" // the request had no token
	}
	lacks := "lacks permission " + e.Missing.String()
	if e.Some {
		lacks = fmt.Sprintf("lacks permission '%s:%s' on anything that begins with %q", e.Missing.Kind,
			e.Missing.Access, e.Missing.Name)
	}
	return fmt.Sprintf("%s: %s %s", api.TextDenied, who, lacks)
}

// AboutKey reports whether it is about a key.
func (e *DeniedError) AboutKey() bool { return e.Missing.Kind == acl.Key }

// Unwrap makes it an acl.DeniedError.
func (e *DeniedError) Unwrap() error { return &acl.DeniedError{Missing: e.Missing} }
