package backup

import (
	"time"

	"tenure/kv"
)

// Entry is a key in a backup.
type Entry struct {
	Key     string
	Value   []byte
	Flags   uint64
	TTL     time.Duration // as it was set; the remaining time is not in a backup. 0 if none
	Session string        // the session that holds the key's lock, or ""
}

// Entries reads the rest of the backup and calls fn with each key, in order. fn may keep the entry. Errors are those of
// Records, and that of fn.
func (b *Reader) Entries(fn func(Entry) error) error {
	return b.Records(func(c kv.Change) error {
		if c.Kind != kv.KindData {
			return nil
		}
		e, err := kv.ReadEntry(c.Key, c.Value)
		if err != nil {
			return format.DamagedAt(b.at, "%w", err)
		}
		return fn(Entry{Key: e.Key, Value: e.Value, Flags: e.Flags, TTL: e.TTL, Session: e.Session})
	})
}
