package kv

import "bytes"

// meets reports whether the condition of c holds for old, if it was found.
func (c *Command) meets(old *Entry, found bool) bool {
	switch {
	case c.Mode&ModeAbsent != 0:
		return !found
	case c.Mode&ModePresent != 0:
		return found
	case c.Mode&ModeEqual != 0:
		return found && bytes.Equal(old.Value, c.Test)
	}
	return true
}

// meetsTimed is meets for the commands whose ModeAbsent and ModePresent are about the TTL. The key must be there.
func (c *Command) meetsTimed(old *Entry) bool {
	switch {
	case c.Mode&ModeAbsent != 0:
		return old.TTL == 0
	case c.Mode&ModePresent != 0:
		return old.TTL != 0
	}
	return c.meets(old, true)
}
