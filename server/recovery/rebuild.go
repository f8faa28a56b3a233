package recovery

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/members"
	"tenure/server/recovery/merge"
	"tenure/server/replica"
	"tenure/storage"
)

const (
	copyBytes       = 4 << 20  // of records that are copied at a time
	checkpointBytes = 16 << 20 // of changes in memory, before they are checkpointed
)

// rebuild makes the state of a new directory: that of a survivor's state database, with the merged log applied, or that
// of a backup.
type rebuild struct {
	to       *storage.Store
	ballot   ballot.Ballot
	seq      uint64
	state    *kv.State
	record   members.Record // the newest that the log has brought
	nextNode ballot.NodeID
}

// source is the records of a state database as of a slot, and kv's own.
type source struct {
	slot uint64
	meta []byte
	// each calls fn for every record, by kind and key, until it returns an error. What a record points to is valid
	// during the call only.
	each func(fn func(kv.Change) error) error
}

// copyState copies the records of a state database, and opens the copy.
func (b *rebuild) copyState(from source, err error) error {
	if err != nil {
		return err
	}
	if from.slot > 0 {
		if err := b.copyRecords(from); err != nil {
			return err
		}
	}
	b.state, err = kv.Open(b.to, kv.DefaultLimits)
	return err
}

func (b *rebuild) copyRecords(from source) error {
	if err := b.reach(from.slot); err != nil {
		return err
	}
	var changes []kv.Change
	size := 0
	write := func() error {
		err := b.to.Checkpoint(&kv.Checkpoint{Slot: from.slot, Meta: from.meta, Changes: slices.Values(changes)})
		changes, size = changes[:0], 0
		return err
	}
	err := from.each(func(c kv.Change) error {
		changes = append(changes, kv.Change{Kind: c.Kind, Key: slices.Clone(c.Key), Value: slices.Clone(c.Value)})
		if size += len(c.Key) + len(c.Value); size < copyBytes {
			return nil
		}
		return write()
	})
	if err != nil {
		return err
	}
	return write()
}

// reach has the new log end at a slot that is chosen, as a checkpoint through it needs; the slots before are cut off.
func (b *rebuild) reach(slot uint64) error {
	b.seq++
	s := multipaxos.Slot(slot)
	return b.to.Commit([]multipaxos.Persist{{Seq: b.seq, Promised: b.ballot, Chosen: s, Truncate: b.to.Checkpointed(),
		Entries: []multipaxos.Entry{{Slot: s, Ballot: b.ballot}}}})
}

// apply applies a slot of the merged log.
func (b *rebuild) apply(s merge.Slot) error {
	_, err := b.applyUpTo(math.MaxUint64, uint64(s.Slot), s.Value)
	return err
}

// applyUpTo applies the value chosen in a slot, up to a revision. whole is false if commands were left out.
func (b *rebuild) applyUpTo(revision, slot uint64, value []byte) (whole bool, err error) {
	batch, record, err := replica.Content(multipaxos.Entry{Slot: multipaxos.Slot(slot), Value: value})
	if err != nil {
		return false, err
	}
	if whole = true; record == nil {
		whole, err = b.state.ApplyUpTo(revision, slot, batch)
	} else {
		err = b.setMembers(slot, record)
	}
	if err != nil || b.state.TableBytes() < checkpointBytes {
		return whole, err
	}
	return whole, b.checkpoint()
}

func (b *rebuild) setMembers(slot uint64, record []byte) error {
	r, err := members.Decode(record)
	if err != nil {
		return err
	}
	b.follow(r)
	return b.state.SetMembers(slot, record, uint64(r.Membership.Era))
}

// follow notes the newest record. Ids that were ever given are not given again.
func (b *rebuild) follow(r members.Record) {
	b.record, b.nextNode = r, max(b.nextNode, r.NextNode)
}

func (b *rebuild) checkpoint() error {
	f := b.state.Freeze()
	if f == nil {
		return nil
	}
	if err := b.reach(f.Slot()); err != nil {
		return err
	}
	if err := b.to.Checkpoint(f.Checkpoint()); err != nil {
		return err
	}
	return b.state.Checkpointed()
}

// finish jumps, and makes the voter the only member. The returned membership is durable in the new directory, and was
// checked by reading it back.
func (b *rebuild) finish(made time.Time) (ident.Membership, error) {
	at, err := startsAt(made, starts{b.state.Applied(), b.state.Revision(), b.state.Eras()})
	if err != nil {
		return ident.Membership{}, err
	}
	if err := b.state.Jump(at.slot-b.state.Applied(), at.revision-b.state.Revision()); err != nil {
		return ident.Membership{}, err
	}
	self, _, _ := b.record.Membership.Find(b.ballot.Node)
	self.Node, self.Store = b.ballot.Node, b.to.Identity().Store
	r := recordOfOne(self, &b.record, b.nextNode, uint32(at.era))
	if err := b.state.SetMembers(b.state.Applied()+1, r.Encode(), at.era); err != nil {
		return ident.Membership{}, err
	}
	if err := b.checkpoint(); err != nil {
		return ident.Membership{}, err
	}
	end := multipaxos.Slot(b.state.Applied())
	if err := b.to.Commit([]multipaxos.Persist{{Seq: b.seq + 1, Chosen: end, Truncate: end}}); err != nil {
		return ident.Membership{}, err
	}
	return r.Membership, b.check()
}

// check compares the state database with the state in memory.
func (b *rebuild) check() error {
	read, err := kv.Open(b.to, kv.DefaultLimits)
	if err != nil {
		return err
	}
	got, err := read.Digest()
	if err != nil {
		return err
	}
	want, err := b.state.Digest()
	if err != nil {
		return err
	}
	if got != want || read.Applied() != b.state.Applied() {
		return fmt.Errorf("the new state database at slot %d is not what was written into it", read.Applied())
	}
	return nil
}
