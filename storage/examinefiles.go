package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"tenure/internal/ident"
	"tenure/multipaxos"
	"tenure/storage/internal/acceptor"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/state"
	"tenure/storage/journal"
)

// readLog reads log.db.
func (x *Examination) readLog() {
	f, size, ok := x.open(disk.LogName)
	if !ok {
		return
	}
	defer f.Close()
	var node nodeContent
	c, err := acceptor.ReadContent(f, size, node.records())
	if err == nil {
		err = node.check()
	}
	if err != nil {
		x.problem(disk.LogName, err)
		x.salvageIdentity()
		return
	}
	id, start := node.identity.public(), node.start.public()
	x.Identity, x.Start = &id, &start
	m := &c.Marks
	x.Log = &LogInfo{Promised: m.Promised, Chosen: m.Chosen, Truncated: m.Truncated, First: c.First, Last: m.Last,
		Entries: m.Entries.Count, Digest: m.Entries.Sum, marks: *m}
	is, err := locate(f)
	if err == nil {
		err = refuseCopy(x.files.Dir, node.disk, is)
	}
	if accepted, _ := disk.Exists(filepath.Join(x.files.Dir, acceptedName)); err != nil && !accepted {
		x.Copied = err.Error()
	}
}

// salvageIdentity looks for the identity in a damaged log.db.
func (x *Examination) salvageIdentity() {
	var r identityRecord
	_ = salvage(x.files.LogPath(), func(bucket string, key, record []byte) error {
		if bucket == acceptor.NodeBucket && string(key) == string(identityKey) && acceptor.OpenNode(key, record, &r) == nil {
			id := r.public()
			x.Identity = &id
		}
		return nil
	}, func(error) {})
}

// readJournal reads the journal, if log.db is sound.
func (x *Examination) readJournal() {
	f, size, ok := x.open(disk.JournalName)
	if !ok || x.Log == nil {
		if ok {
			f.Close()
			x.Notes = append(x.Notes, disk.JournalName+" was not read: it needs "+disk.LogName)
		}
		return
	}
	defer f.Close()
	m, err := &x.Log.marks, error(nil)
	if size != m.JournalBytes {
		x.problem(disk.JournalName, fmt.Errorf("it has %d bytes and was made with %d", size, m.JournalBytes))
		return
	}
	home := journal.Home{Journaled: m.Journaled, Generation: m.Generation, Seen: m.Seen}
	j := &JournalInfo{Bytes: size, Durable: m.Durable()}
	j.CutOff, err = journal.Read(f, size, x.Identity.Store, home, func(r *journal.Record, _ journal.Place) error {
		if err := acceptor.Follows(j.Durable, r); err != nil {
			return fmt.Errorf("record %d %w", r.Number, err)
		}
		j.Durable = r.Marks
		j.records = append(j.records, *r)
		j.Records++
		return nil
	})
	if errors.Is(err, journal.ErrHomeOlder) {
		x.problem(disk.LogName, fmt.Errorf("%w: it is an older copy", err))
		return
	}
	if err != nil {
		x.problem(disk.JournalName, err)
		return
	}
	x.Journal = j
}

// readState reads the whole state database, whatever its size, and the redo file if a checkpoint was interrupted.
func (x *Examination) readState() {
	c, err := state.ReadContent(x.files.StatePath(), 1<<62, x.files.SumsPath())
	if errors.Is(err, state.ErrNoSums) {
		x.Notes = append(x.Notes, disk.SumsName+" is missing, or not of this state: the next start makes it anew")
		c, err = state.ReadContent(x.files.StatePath(), 1<<62)
	} else if err != nil {
		if whole, other := state.ReadContent(x.files.StatePath(), 1<<62); other == nil {
			x.problem(disk.SumsName, fmt.Errorf("%s is whole, and these are not the checksums of its pages (%w)", disk.StateName,
				err))
			c, err = whole, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("the file is missing")
	}
	if err != nil {
		x.problem(disk.StateName, disk.Plain(err))
		return
	}
	x.State = &StateInfo{Slot: multipaxos.Slot(c.Marks.Slot), Records: c.Marks.Records.Count,
		Digest: c.Marks.Records.Sum, Unfinished: multipaxos.Slot(c.Marks.Plan.Slot), Meta: c.Marks.Meta}
	if x.Log != nil && x.Journal != nil && !x.replaced(c) {
		if err := state.BelongTogether(x.files, c, x.Identity.Store, x.Journal.Durable); err != nil {
			x.problem(disk.StateName, err)
		}
	}
	x.readRedo(&c.Marks.Plan)
}

// replaced reports whether the next start replaces the state by a received snapshot, for which the log may have been
// truncated.
func (x *Examination) replaced(c *state.Content) bool {
	there, err := disk.Exists(x.files.ReceivedPath())
	return err == nil && there && c.Owner != (ident.StoreID{})
}

// readRedo reads the changes of an interrupted checkpoint.
func (x *Examination) readRedo(plan *state.Plan) {
	if plan.Changes.Count == 0 {
		return
	}
	f, _, ok := x.open(disk.RedoName)
	if !ok {
		return
	}
	defer f.Close()
	if err := state.CheckRedo(f, plan); err != nil {
		x.problem(disk.RedoName, err)
		return
	}
	x.Notes = append(x.Notes, fmt.Sprintf("a checkpoint through slot %d was interrupted: the next start completes it",
		plan.Slot))
}

// readReceived reads the snapshot that the next start would install, if there is one.
func (x *Examination) readReceived() {
	there, err := disk.Exists(x.files.ReceivedPath())
	if err != nil || !there {
		return
	}
	c, err := state.ReadReceived(x.files, 1<<62)
	cut := x.Log != nil && x.State != nil && x.Log.Truncated > max(x.State.Slot, x.State.Unfinished)
	switch {
	case err == nil:
		x.Notes = append(x.Notes, fmt.Sprintf("a snapshot through slot %d was received: the next start installs it if "+
			"it is ahead of the state", c.Marks.Slot))
	case cut:
		x.problem(disk.ReceivedName, err)
	default:
		x.Notes = append(x.Notes, fmt.Sprintf("%s does not hold (%v): the next start drops it", disk.ReceivedName, err))
	}
}
