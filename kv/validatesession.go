package kv

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// validateSession checks what c, which is no part, says of a session.
func (c *Command) validateSession() error {
	switch {
	case known(c.Op).takes&hasSessionID == 0:
		return nil
	case c.Op == OpSet && (c.Lock != LockNone) != (c.Session.ID != ""):
		return errLockAlone
	case c.Op == OpSet && c.Session.ID == "":
		return nil
	}
	return c.Session.validate()
}

// validatePartSession is validateSession for a part. An ID that no session can have fails the part only when it is
// applied, like one that no session has (sessions.lacks): the transaction then tells its other failures too.
func (c *Command) validatePartSession() error {
	switch id := c.Session.ID; {
	case id != "" && c.Op == OpSet && c.Lock == LockNone:
		return errLockAlone
	case len(id) > MaxPartSessionBytes || !utf8.ValidString(id):
		return fmt.Errorf("%w: a session named in a transaction is at most %d bytes of UTF-8", ErrCommand,
			MaxPartSessionBytes)
	}
	return nil
}

var errLockAlone = fmt.Errorf("%w: a lock and a session come together", ErrCommand)

// validate checks what a command may say of a session.
func (s *Session) validate() error {
	if err := ValidateSessionID(s.ID); err != nil {
		return err
	}
	for _, name := range []string{s.Name, s.Node} {
		if len(name) > MaxSessionNameBytes || !utf8.ValidString(name) {
			return fmt.Errorf("%w: the name and the node of a session are at most %d bytes of UTF-8", ErrCommand,
				MaxSessionNameBytes)
		}
	}
	for _, d := range []time.Duration{s.LockDelay, s.TTL} {
		if d < 0 || d > MaxTTL {
			return fmt.Errorf("%w: a time of %v: must be from 0 to %v", ErrCommand, d, MaxTTL)
		}
	}
	if s.Behavior > Delete || s.CreateIndex|s.ModifyIndex|s.Renewals != 0 {
		return fmt.Errorf("%w: a session's behavior is not known, or its indexes are given", ErrCommand)
	}
	return nil
}

// ValidateSessionID reports why id cannot name a session: a UUID of 36 bytes in lower case can. Errors wrap ErrCommand.
func ValidateSessionID(id string) error {
	if !validUUID(id) {
		return fmt.Errorf("%w: %.40q is not the ID of a session, a UUID in lower case", ErrCommand, id)
	}
	return nil
}

// validUUID reports whether id is a UUID in lower case.
func validUUID(id string) bool {
	good := len(id) == sessionIDBytes
	for i := 0; good && i < len(id); i++ {
		switch b := id[i]; i {
		case 8, 13, 18, 23:
			good = b == '-'
		default:
			good = b >= '0' && b <= '9' || b >= 'a' && b <= 'f'
		}
	}
	return good
}
