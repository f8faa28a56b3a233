package kv

import (
	"cmp"
	"slices"

	"github.com/tidwall/btree"
)

// Frozen is what was applied between two calls of Freeze, or since one until FreezeNext, on its way to the state
// database. It does not change any more, so Checkpoint may run on another goroutine while State goes on.
type Frozen struct {
	meta       meta
	data       *memtable
	bytes      int64 // 0 after FreezeNext: the memtable has the same
	queue      dedupQueue
	changed    *btree.Map[string, []byte] // of the registers
	tombstones tombstones
	quotas     quotas

	old           meta // of the checkpoint before
	oldTombstones tombstones
	oldQuotas     quotas
}

// checkpoint is the newest checkpoint in the state database and those on their way there.
type checkpoint struct {
	frozen     *Frozen    // or nil
	next       *Frozen    // that follows frozen; or nil
	newest     meta       // of the newest checkpoint in the state database
	tombstones tombstones // of that checkpoint
	quotas     quotas     // likewise
}

// done notes that the frozen changes are durable. slot is that of the state database.
func (c *checkpoint) done(slot uint64) error {
	if slot != c.frozen.meta.Slot {
		return damaged("slot %d was checkpointed, the state database is at slot %d", c.frozen.meta.Slot, slot)
	}
	f := c.frozen
	c.newest, c.tombstones, c.quotas = f.meta, f.tombstones, f.quotas
	c.frozen, c.next = c.next, nil
	return nil
}

// Freeze takes everything applied since the last one out of the way, in time that does not grow with how much it is.
// Nil: an earlier one is outstanding, or not even a slot was applied since. The caller writes its Checkpoint to the
// state database and then calls Checkpointed; until then reads find the frozen changes in memory.
func (s *State) Freeze() *Frozen {
	if s.checkpoint.frozen != nil || s.applied == s.checkpoint.newest.Slot {
		return nil
	}
	c, reg := &s.checkpoint, &s.exec.reg
	f := s.frozenAfter(c.newest, c.tombstones, c.quotas)
	f.bytes, f.changed = s.unwritten(), reg.changes.records
	f.data = s.exec.entries.freeze()
	reg.changes, s.dedup.bytes = newChanges(), 0
	c.frozen = f
	return f
}

// FreezeNext freezes the state of this slot for a checkpoint of its own after the one that is outstanding. The Frozen
// becomes the outstanding one at Checkpointed; another call before that replaces it. Nil: none is outstanding, or not
// even a slot was applied since. The changes stay in the memtable, where reads find them, and the next Freeze takes
// them once more, so they are written twice. FreezeNext counts as a write to s, as Snapshot does.
func (s *State) FreezeNext() *Frozen {
	before := s.checkpoint.frozen
	if before == nil || s.applied == before.meta.Slot {
		return nil
	}
	f := s.frozenAfter(before.meta, before.tombstones, before.quotas)
	f.data, f.changed = s.exec.entries.active.Copy(), s.exec.reg.changes.records.Copy()
	s.checkpoint.next = f
	return f
}

// frozenAfter returns what Frozen has of the state as it is now besides the changes, given the checkpoint before.
func (s *State) frozenAfter(old meta, oldTombstones tombstones, oldQuotas quotas) *Frozen {
	d, reg := &s.dedup, &s.exec.reg
	m := meta{
		Slot: s.applied, Revision: s.exec.revision,
		Floor: d.floor, First: d.queue.first, Next: d.queue.next,
	}
	reg.mark(&m)
	return &Frozen{
		meta: m, queue: d.queue.share(), tombstones: reg.tombstones.copy(), quotas: reg.quotas.copy(),
		old: old, oldTombstones: oldTombstones, oldQuotas: oldQuotas,
	}
}

// Checkpointed drops the frozen changes: their checkpoint is durable and every view opened from now on shows it. What
// FreezeNext returned is outstanding then. An error means that the state database says otherwise. It panics if nothing
// is frozen.
func (s *State) Checkpointed() error {
	if s.checkpoint.frozen == nil {
		panic("kv: Checkpointed without Freeze")
	}
	slot, _, err := s.exec.entries.source.Loaded()
	if err != nil {
		return err
	}
	if err := s.checkpoint.done(slot); err != nil {
		return err
	}
	s.exec.entries.frozen = nil
	return nil
}

// Slot returns the applied slot of the state database once f is in it.
func (f *Frozen) Slot() uint64 { return f.meta.Slot }

// Checkpoint returns f as storage writes it, newly made: it costs time and memory in proportion to what changed.
func (f *Frozen) Checkpoint() *Checkpoint {
	forgotten, fresh := f.dedupChanges()
	changes := make([]Change, 0, f.data.Len()+int(forgotten.next-forgotten.first)+int(fresh.next-fresh.first)+
		f.changed.Len())
	var a arena
	f.data.Scan(func(key string, e *Entry) bool {
		c := Change{Space: SpaceData, Key: a.keep(append(a.space(len(key)), key...))}
		if e != nil {
			c.Value = a.keep(appendEntry(a.space(entryHeaderBytes+len(e.Value)), e))
		}
		changes = append(changes, c)
		return true
	})
	for seq := forgotten.first; seq < forgotten.next; seq++ {
		changes = append(changes, Change{Space: SpaceDedup, Key: sequenceKey(seq)})
	}
	for seq := fresh.first; seq < fresh.next; seq++ {
		m := f.queue.at(seq)
		record := a.keep(appendRemembered(a.space(rememberedHeaderBytes+len(m.key)), m))
		changes = append(changes, Change{Space: SpaceDedup, Key: sequenceKey(seq), Value: record})
	}
	changes = f.registerChanges(changes, 0, SpaceTombstone)
	changes = append(changes, f.tombstoneChanges()...)
	changes = f.registerChanges(changes, SpaceMembers, SpaceMembers+1)
	changes = append(changes, f.quotaChanges()...)
	changes = f.registerChanges(changes, SpaceStaged, SpaceToken+1)
	f.meta.checkLevels(changes)
	return &Checkpoint{Slot: f.meta.Slot, Meta: f.meta.encode(), Changes: changes}
}

// registerChanges appends what changed in the registers' spaces from one to below another.
func (f *Frozen) registerChanges(changes []Change, from, below Space) []Change {
	f.changed.Ascend(string([]byte{byte(from)}), func(key string, record []byte) bool {
		if Space(key[0]) >= below {
			return false
		}
		changes = append(changes, Change{Space: Space(key[0]), Key: bytesOf(key[1:]), Value: slices.Clip(record)})
		return true
	})
	return changes
}

// tombstoneChanges returns the tombstones that came since the last checkpoint, which their revisions tell, and those of
// the last one that were compacted.
func (f *Frozen) tombstoneChanges() (changes []Change) {
	f.oldTombstones.byAge.Scan(func(t tombstone) bool {
		if t.revision > f.tombstones.floor {
			return false
		}
		if _, again := f.tombstones.byKey.Get(t.key); !again {
			changes = append(changes, Change{Space: SpaceTombstone, Key: bytesOf(t.key)})
		}
		return true
	})
	f.tombstones.byAge.Ascend(tombstone{revision: f.old.Revision + 1}, func(t tombstone) bool {
		changes = append(changes, Change{Space: SpaceTombstone, Key: bytesOf(t.key),
			Value: slices.Clip(appendTombstone(nil, t.revision))})
		return true
	})
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(string(a.Key), string(b.Key)) })
	return changes
}

func bytesOf(key string) []byte { return slices.Clip([]byte(key)) }

// dedupChanges is which records of the state database were forgotten, and which are new and still remembered. A record
// that was both remembered and forgotten since the last checkpoint is neither.
func (f *Frozen) dedupChanges() (forgotten, fresh struct{ first, next uint64 }) {
	forgotten.first, forgotten.next = f.old.First, min(f.meta.First, f.old.Next)
	fresh.first, fresh.next = max(f.old.Next, f.meta.First), f.meta.Next
	return forgotten, fresh
}

// arena packs the many small byte slices of a checkpoint into few allocations.
type arena struct{ free []byte }

const arenaBytes = 64 << 10

// space returns an empty slice to append at most n bytes to.
func (a *arena) space(n int) []byte {
	if n > len(a.free) {
		a.free = make([]byte, max(n, arenaBytes))
	}
	return a.free[:0]
}

// keep sets what was appended to the last space apart, whole and never to grow into the next.
func (a *arena) keep(b []byte) []byte {
	a.free = a.free[len(b):]
	return b[:len(b):len(b)]
}
