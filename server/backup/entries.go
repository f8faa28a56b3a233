package backup

import (
	"time"

	"tenure/kv"
)

// Entry is a key as it is in a backup.
type Entry struct {
	Key     string
	Value   []byte
	Flags   uint64
	TTL     time.Duration // as it was given; what is left of it is not in a backup. 0: none
	Session string        // that holds the lock, or ""
}

// Entries is Records for the keys alone, in order. What fn is given is its to keep.
func (b *Reader) Entries(fn func(Entry) error) error {
	return b.Records(func(c kv.Change) error {
		if c.Space != kv.SpaceData {
			return nil
		}
		e, err := kv.ReadEntry(c.Key, c.Value)
		if err != nil {
			return format.DamagedAt(b.at, "%w", err)
		}
		return fn(Entry{Key: e.Key, Value: e.Value, Flags: e.Flags, TTL: e.TTL, Session: e.Session})
	})
}
