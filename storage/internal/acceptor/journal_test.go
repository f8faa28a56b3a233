package acceptor

import (
	"testing"

	"tenure/multipaxos"
	"tenure/storage/internal/disk"
	"tenure/storage/journal"
)

func TestWhatIsPendingIsThereAfterACrash(t *testing.T) {
	s := open(t, t.TempDir(), calm)
	must(t, s.Commit([]multipaxos.Persist{{Promised: bal(3),
		Entries: []multipaxos.Entry{entry(1, 3, "a"), entry(2, 3, "b")}}}))
	must(t, s.Flush())
	must(t, s.Commit([]multipaxos.Persist{{Promised: bal(4),
		Entries: []multipaxos.Entry{entry(4, 4, "d"), entry(2, 4, "B")}, Chosen: 2}}))
	must(t, s.Commit([]multipaxos.Persist{{Entries: []multipaxos.Entry{entry(3, 4, "c")}}, {Promised: bal(5)}}))
	want := mustContent(t, s)
	if st := s.Stats(); st.JournalSyncs != 3 || st.Flushes != 1 || st.PendingBytes != 2*journal.SectorBytes ||
		s.logged.Load().Last != 2 {
		t.Errorf("%+v", st)
	}
	die(t, s)
	s = open(t, s.files.Dir, calm)
	if got := mustContent(t, s); got != want {
		t.Errorf("%s\nbecame\n%s", want, got)
	}
	if st := s.Stats(); st.Replayed != 2 || st.CutOff || st.PendingBytes != 2*journal.SectorBytes ||
		s.logged.Load().Last != 2 {
		t.Errorf("%+v, log.db has %+v", st, s.logged.Load())
	}
	must(t, s.Flush())
	if s.logged.Load().Durable() != s.Durable() || mustContent(t, s) != want {
		t.Errorf("%+v, log.db has %+v", s.Stats(), s.logged.Load())
	}
	die(t, s)
	if s = open(t, s.files.Dir, calm); s.Stats().Replayed != 0 || mustContent(t, s) != want {
		t.Errorf("%+v", s.Stats())
	}
}

// A record that cannot follow the marks before it is damage, even if its checksums are right.
func TestRecordsMustFollow(t *testing.T) {
	was := multipaxos.Durable{Promised: bal(5), Truncated: 3, Chosen: 6, Last: 9}
	for name, m := range map[string]multipaxos.Durable{
		"promised":  {Promised: bal(4), Truncated: 3, Chosen: 6, Last: 9},
		"truncated": {Promised: bal(5), Truncated: 2, Chosen: 6, Last: 9},
		"chosen":    {Promised: bal(5), Truncated: 3, Chosen: 5, Last: 9},
		"last":      {Promised: bal(5), Truncated: 3, Chosen: 6, Last: 8},
	} {
		if Follows(was, &journal.Record{Marks: m}) == nil {
			t.Errorf("%s goes back", name)
		}
	}
	for slot, good := range map[int]bool{3: false, 4: true, 9: true, 10: false} {
		r := &journal.Record{Marks: was, Entries: []multipaxos.Entry{entry(slot, 5, "")}}
		if err := Follows(was, r); (err == nil) != good {
			t.Errorf("slot %d: %v", slot, err)
		}
	}
}

// An error of the journal's disk names the file and says what to do.
func TestErrorsOfTheJournalNameTheFile(t *testing.T) {
	s := open(t, t.TempDir(), small)
	s.journalFile.Close()
	err := s.Commit([]multipaxos.Persist{{Entries: []multipaxos.Entry{entry(1, 1, "v")}}})
	wantError(t, err, disk.ErrFailed, s.files.JournalPath(), "mend the disk")
}
