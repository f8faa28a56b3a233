package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tenure/internal/ident"
	"tenure/multipaxos"
	"tenure/storage/internal/disk"
	"tenure/storage/journal"
)

// readLog reads log.db.
func (x *Examination) readLog() {
	f, size, ok := x.open(logName)
	if !ok {
		return
	}
	defer f.Close()
	c, err := readLog(f, size)
	if err != nil {
		x.problem(logName, err)
		x.salvageIdentity()
		return
	}
	id, start := c.identity.public(), c.start.public()
	x.Identity, x.Start = &id, &start
	m := &c.marks
	x.Log = &LogInfo{Promised: m.Promised, Chosen: m.Chosen, Truncated: m.Truncated, First: c.first, Last: m.Last,
		Entries: m.Entries.Count, Digest: m.Entries.Sum, marks: *m}
	is, err := locate(f)
	if err == nil {
		err = refuseCopy(x.files.dir, c.disk, is)
	}
	if accepted, _ := exists(filepath.Join(x.files.dir, acceptedName)); err != nil && !accepted {
		x.Copied = err.Error()
	}
}

// salvageIdentity looks for the identity in a damaged log.db.
func (x *Examination) salvageIdentity() {
	var r identityRecord
	_ = x.walkLog(func(bucket string, key, record []byte) error {
		if bucket == nodeBucket && string(key) == string(identityKey) && nodeSeed.openInto(key, record, &r) == nil {
			id := r.public()
			x.Identity = &id
		}
		return nil
	}, func(error) {})
}

// readJournal reads the journal, if log.db is sound.
func (x *Examination) readJournal() {
	f, size, ok := x.open(journalName)
	if !ok || x.Log == nil {
		if ok {
			f.Close()
			x.Notes = append(x.Notes, journalName+" was not read: it needs "+logName)
		}
		return
	}
	defer f.Close()
	m := &x.Log.marks
	if size != m.JournalBytes {
		x.problem(journalName, fmt.Errorf("it has %d bytes and was made with %d", size, m.JournalBytes))
		return
	}
	home := journal.Home{Journaled: m.Journaled, Generation: m.Generation}
	records, cutOff, err := journal.Read(readOnly{f}, size, x.Identity.Store, home)
	if errors.Is(err, journal.ErrHomeOlder) {
		x.problem(logName, fmt.Errorf("%w: it is an older copy", err))
		return
	}
	j := &JournalInfo{Bytes: size, Records: len(records), CutOff: cutOff, Durable: m.durable(), records: records}
	for i := 0; i < len(records) && err == nil; i++ {
		if err = follows(j.Durable, &records[i]); err != nil {
			err = fmt.Errorf("record %d %w", records[i].Number, err)
		}
		j.Durable = records[i].Marks
	}
	if err != nil {
		x.problem(journalName, err)
		return
	}
	x.Journal = j
}

// readOnly is a journal file that refuses writes.
type readOnly struct{ *os.File }

// WriteAt returns fs.ErrPermission.
func (readOnly) WriteAt([]byte, int64) (int, error) { return 0, fs.ErrPermission }

// Sync returns fs.ErrPermission.
func (readOnly) Sync() error { return fs.ErrPermission }

// readState reads the whole state database, whatever its size, and the redo file if a checkpoint was interrupted.
func (x *Examination) readState() {
	c, err := readStateMarks(x.files.statePath(), 1<<62, x.files.sumsPath())
	if errors.Is(err, errNoSums) {
		x.Notes = append(x.Notes, sumsName+" is missing, or not of this state: the next start makes it anew")
		c, err = readStateMarks(x.files.statePath(), 1<<62)
	} else if err != nil {
		if whole, other := readStateMarks(x.files.statePath(), 1<<62); other == nil {
			x.problem(sumsName, fmt.Errorf("%s is whole, and these are not the checksums of its pages (%w)", stateName,
				err))
			c, err = whole, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("the file is missing")
	}
	if err != nil {
		x.problem(stateName, disk.Plain(err))
		return
	}
	x.State = &StateInfo{Slot: multipaxos.Slot(c.marks.Slot), Records: c.marks.Records.Count,
		Digest: c.marks.Records.Sum, Unfinished: multipaxos.Slot(c.marks.Plan.Slot), Meta: c.marks.Meta}
	if x.Log != nil && x.Journal != nil && !x.replaced(c) {
		if err := belongTogether(x.files, c, x.Identity.Store, x.Journal.Durable); err != nil {
			x.problem(stateName, err)
		}
	}
	x.readRedo(&c.marks.Plan)
}

// replaced reports whether the next start replaces the state by a received snapshot, for which the log may have been
// truncated.
func (x *Examination) replaced(c *stateContent) bool {
	there, err := exists(x.files.receivedPath())
	return err == nil && there && c.owner != (ident.StoreID{})
}

// readRedo reads the changes of an interrupted checkpoint.
func (x *Examination) readRedo(plan *checkpointPlan) {
	if plan.Changes.Count == 0 {
		return
	}
	f, _, ok := x.open(redoName)
	if !ok {
		return
	}
	defer f.Close()
	r := newRedoReader(f, plan)
	for range plan.Changes.Count {
		if _, err := r.next(); err != nil {
			x.problem(redoName, err)
			return
		}
	}
	if r.digest != plan.Changes || r.left != 0 {
		x.problem(redoName, fmt.Errorf("its changes are not those of the checkpoint through slot %d", plan.Slot))
		return
	}
	x.Notes = append(x.Notes, fmt.Sprintf("a checkpoint through slot %d was interrupted: the next start completes it",
		plan.Slot))
}

// readReceived reads the snapshot that the next start would install, if there is one.
func (x *Examination) readReceived() {
	there, err := exists(x.files.receivedPath())
	if err != nil || !there {
		return
	}
	sums := x.files.receivedSumsPath()
	if there, err := exists(sums); err == nil && !there {
		sums = x.files.sumsPath()
	}
	c, err := readStateMarks(x.files.receivedPath(), 1<<62, sums)
	cut := x.Log != nil && x.State != nil && x.Log.Truncated > max(x.State.Slot, x.State.Unfinished)
	switch {
	case err == nil:
		x.Notes = append(x.Notes, fmt.Sprintf("a snapshot through slot %d was received: the next start installs it if "+
			"it is ahead of the state", c.marks.Slot))
	case cut:
		x.problem(receivedName, err)
	default:
		x.Notes = append(x.Notes, fmt.Sprintf("%s does not hold (%v): the next start drops it", receivedName, err))
	}
}
