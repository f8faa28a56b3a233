package disk

import "path/filepath"

// The files of a data directory that more than one part knows.
const (
	LogName          = "log.db"
	JournalName      = "journal"
	StateName        = "state.db"
	SumsName         = "state.sums"         // checksums of the pages of state.db
	NewSumsName      = "state.sums.new"     // the same, while they are made anew
	RedoName         = "redo"               // from the first checkpoint of several parts on
	ReserveName      = "reserve"            // space that only this store may use
	ReceivingName    = "state.db.receiving" // a snapshot that is being received
	ReceivedName     = "state.db.received"  // one that is whole, until Open installs it
	ReceivedSumsName = "state.sums.received"
)

// Files is the paths of a data directory.
type Files struct{ Dir string }

// LogPath is that of log.db.
func (f Files) LogPath() string { return filepath.Join(f.Dir, LogName) }

// JournalPath is that of the journal.
func (f Files) JournalPath() string { return filepath.Join(f.Dir, JournalName) }

// StatePath is that of state.db.
func (f Files) StatePath() string { return filepath.Join(f.Dir, StateName) }

// SumsPath is that of state.sums.
func (f Files) SumsPath() string { return filepath.Join(f.Dir, SumsName) }

// RedoPath is that of the redo file.
func (f Files) RedoPath() string { return filepath.Join(f.Dir, RedoName) }

// ReservePath is that of the reserve file.
func (f Files) ReservePath() string { return filepath.Join(f.Dir, ReserveName) }

// ReceivingPath is that of the snapshot that is being received.
func (f Files) ReceivingPath() string { return filepath.Join(f.Dir, ReceivingName) }

// ReceivedPath is that of the snapshot that is to be installed.
func (f Files) ReceivedPath() string { return filepath.Join(f.Dir, ReceivedName) }

// ReceivedSumsPath is that of the checksums of its pages.
func (f Files) ReceivedSumsPath() string { return filepath.Join(f.Dir, ReceivedSumsName) }
