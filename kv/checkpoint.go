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

// Checkpoint returns f as storage writes it. Most of its changes are made only when they are ranged over, so that no
// copy of all of them is in memory.
func (f *Frozen) Checkpoint() *Checkpoint {
	tombstones, quotas := f.tombstoneChanges(), f.quotaChanges()
	changes := func(yield func(Change) bool) {
		checked := func(c Change) bool {
			f.meta.checkKind(c.Kind)
			return yield(c)
		}
		_ = f.entryChanges(checked) && f.dedupChanges(checked) &&
			f.registerChanges(0, KindTombstone, checked) && each(tombstones, checked) &&
			f.registerChanges(KindMembers, KindMembers+1, checked) && each(quotas, checked) &&
			f.registerChanges(KindStaged, KindToken+1, checked)
	}
	return &Checkpoint{Slot: f.meta.Slot, Meta: f.meta.encode(), Changes: changes}
}

// each hands changes to yield, and reports whether it wants more.
func each(changes []Change, yield func(Change) bool) bool {
	for _, c := range changes {
		if !yield(c) {
			return false
		}
	}
	return true
}

// entryChanges hands the changed entries to yield, and reports whether it wants more.
func (f *Frozen) entryChanges(yield func(Change) bool) (more bool) {
	var name, record []byte
	more = true
	f.data.Scan(func(key string, e *Entry) bool {
		name = append(name[:0], key...)
		c := Change{Kind: KindData, Key: name}
		if e != nil {
			record = appendEntry(record[:0], e)
			c.Value = record
		}
		more = yield(c)
		return more
	})
	return more
}

// dedupChanges hands the changes of the records of remembered writes to yield, and reports whether it wants more.
func (f *Frozen) dedupChanges(yield func(Change) bool) bool {
	forgotten, fresh := f.remembered()
	for seq := forgotten.first; seq < forgotten.next; seq++ {
		if !yield(Change{Kind: KindDedup, Key: sequenceKey(seq)}) {
			return false
		}
	}
	var record []byte
	for seq := fresh.first; seq < fresh.next; seq++ {
		record = appendRemembered(record[:0], f.queue.at(seq))
		if !yield(Change{Kind: KindDedup, Key: sequenceKey(seq), Value: record}) {
			return false
		}
	}
	return true
}

// registerChanges hands what changed in the registers' kinds of records from one to below another to yield, and reports
// whether it wants more.
func (f *Frozen) registerChanges(from, below RecordKind, yield func(Change) bool) (more bool) {
	more = true
	f.changed.Ascend(string([]byte{byte(from)}), func(key string, record []byte) bool {
		if RecordKind(key[0]) >= below {
			return false
		}
		more = yield(Change{Kind: RecordKind(key[0]), Key: []byte(key[1:]), Value: record})
		return more
	})
	return more
}

// tombstoneChanges returns the tombstones that came since the last checkpoint, which their revisions tell, and those of
// the last one that were compacted.
func (f *Frozen) tombstoneChanges() (changes []Change) {
	f.oldTombstones.byAge.Scan(func(t tombstone) bool {
		if t.revision > f.tombstones.floor {
			return false
		}
		if _, again := f.tombstones.byKey.Get(t.key); !again {
			changes = append(changes, Change{Kind: KindTombstone, Key: bytesOf(t.key)})
		}
		return true
	})
	f.tombstones.byAge.Ascend(tombstone{revision: f.old.Revision + 1}, func(t tombstone) bool {
		changes = append(changes, Change{Kind: KindTombstone, Key: bytesOf(t.key),
			Value: slices.Clip(appendTombstone(nil, t.revision))})
		return true
	})
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(string(a.Key), string(b.Key)) })
	return changes
}

func bytesOf(key string) []byte { return slices.Clip([]byte(key)) }

// remembered is which records of the state database were forgotten, and which are new and still remembered. A record
// that was both remembered and forgotten since the last checkpoint is neither.
func (f *Frozen) remembered() (forgotten, fresh struct{ first, next uint64 }) {
	forgotten.first, forgotten.next = f.old.First, min(f.meta.First, f.old.Next)
	fresh.first, fresh.next = max(f.old.Next, f.meta.First), f.meta.Next
	return forgotten, fresh
}
