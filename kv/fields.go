package kv

// fields is a set of the fields of a Command.
type fields uint32

const (
	hasValue fields = 1 << iota
	hasFlags
	hasIndex
	hasIdem
	hasBase
	hasParts
	hasLock
	hasTTL
	hasNum
	hasNewKey
	hasTest
	hasSessionID
	hasSessionBody // of a session more than its ID
	hasArm
	hasFence
	hasToken
	hasDecided
	hasSaid
	hasMode // not one of moreFields

	moreFields = hasLock | hasTTL | hasNum | hasNewKey | hasTest | hasSessionID | hasSessionBody | hasArm |
		hasFence | hasToken
)

// fieldTexts names the fields, by bit.
var fieldTexts = [...]string{
	"value", "flags", "index", "idempotency key", "base", "parts", "lock", "TTL", "number", "new key",
	"value to compare", "session", "settings of a session", "arm", "fence", "token", "decision",
	"hash of what was sent", "mode",
}

// present returns the fields of c that are not zero, except Op and Key.
func (c *Command) present() (f fields) {
	if len(c.Value) > 0 {
		f |= hasValue
	}
	if c.Flags != 0 {
		f |= hasFlags
	}
	if c.HasIndex || c.Index != 0 {
		f |= hasIndex
	}
	if c.IdemKey != "" {
		f |= hasIdem
	}
	if c.Base != 0 {
		f |= hasBase
	}
	if len(c.Parts) > 0 {
		f |= hasParts
	}
	if c.Lock != 0 {
		f |= hasLock
	}
	if c.TTL != 0 {
		f |= hasTTL
	}
	if c.Num != 0 {
		f |= hasNum
	}
	if c.NewKey != "" {
		f |= hasNewKey
	}
	if len(c.Test) > 0 {
		f |= hasTest
	}
	if c.Arm != 0 {
		f |= hasArm
	}
	if c.Fence != "" {
		f |= hasFence
	}
	if c.Token != 0 {
		f |= hasToken
	}
	if c.Decided != 0 {
		f |= hasDecided
	}
	if c.Said != "" {
		f |= hasSaid
	}
	if c.Mode != 0 {
		f |= hasMode
	}
	return f | c.Session.present()
}

func (s *Session) present() (f fields) {
	if s.ID != "" {
		f |= hasSessionID
	}
	if s.Name != "" || s.Node != "" || s.LockDelay != 0 || s.Behavior != 0 || s.TTL != 0 ||
		s.CreateIndex != 0 || s.ModifyIndex != 0 || s.Renewals != 0 {
		f |= hasSessionBody
	}
	return f
}

// String names the first field of f.
func (f fields) String() string {
	for i, text := range fieldTexts {
		if f&(1<<i) != 0 {
			return text
		}
	}
	return "such field"
}
