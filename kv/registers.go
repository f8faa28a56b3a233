package kv

import "github.com/tidwall/btree"

// registers is the data of the state beside the entries. All of it is in memory, in ordered tables that share their
// nodes with their copies. So a snapshot, a checkpoint and a transaction's way back each cost a copy of a few words.
type registers struct {
	sessions   sessions
	times      times
	fences     fences
	tombstones tombstones
	members    members
	quotas     quotas
	staged     staged
	level      uint64  // the feature level, which never falls
	release    string  // that has raised it
	acl        *ACL    // replaced, never changed, by a command that changes it
	changes    changes // of all but the tombstones and quotas, which know by themselves
}

func newRegisters() registers {
	return registers{
		sessions: newSessions(), times: newTimes(), fences: newFences(), tombstones: newTombstones(),
		quotas: newQuotas(), acl: newACL(), changes: newChanges(),
	}
}

// copy returns r as it is now, whatever becomes of r.
func (r *registers) copy() registers {
	return registers{
		sessions: r.sessions.copy(), times: r.times.copy(), fences: r.fences.copy(), tombstones: r.tombstones.copy(),
		members: r.members, level: r.level, release: r.release, quotas: r.quotas.copy(), staged: r.staged.copy(),
		acl:     r.acl,
		changes: changes{records: r.changes.records.Copy(), bytes: r.changes.bytes},
	}
}

// changes is what the next checkpoint writes of the registers: kind and key → record, nil for a deletion.
type changes struct {
	records *btree.Map[string, []byte]
	bytes   int64
}

func newChanges() changes { return changes{records: btree.NewMap[string, []byte](0)} }

// set makes record, or nil for a deletion, what is written under key.
func (c *changes) set(kind RecordKind, key string, record []byte) {
	k := string(append(append(make([]byte, 0, 1+len(key)), byte(kind)), key...))
	if old, replaced := c.records.Set(k, record); replaced {
		c.bytes -= sizeOf(k, nil) + int64(len(old))
	}
	c.bytes += sizeOf(k, nil) + int64(len(record))
}
