package api

// What happens to the keys that a session has locked when it ends.
const (
	BehaviorRelease = "release" // they are unlocked
	BehaviorDelete  = "delete"
)

// SessionRequest is the body of PUT PathSessionCreate. A member that is empty has its default. Nodes take the other
// members of Consul's too, and LockDelay as a number.
type SessionRequest struct {
	Name      string `json:",omitempty"`
	Node      string `json:",omitempty"`
	TTL       string `json:",omitempty"`
	LockDelay string `json:",omitempty"`
	Behavior  string `json:",omitempty"`
}

// SessionID is the answer to PUT PathSessionCreate.
type SessionID struct {
	ID string
}

// Session is a session as it is listed.
type Session struct {
	ID            string
	Name          string
	Node          string
	LockDelay     int64 // in nanoseconds
	Behavior      string
	TTL           string // empty: it ends only when destroyed
	NodeChecks    []string
	ServiceChecks []string
	CreateIndex   uint64
	ModifyIndex   uint64
	// With QueryDetails:
	ExpiresIn string   `json:",omitempty"` // about what is left unless it is renewed
	Held      *uint64  `json:",omitempty"` // how many keys it has locked
	Keys      []string `json:",omitempty"` // the first of them
}
