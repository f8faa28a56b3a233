package kv

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// An upload is a state that will replace this one: OpStage adds a piece of it, OpInstall puts it in place, and
// OpDropStaged discards it. There is at most one. Its pieces are kept unchanged, in memory and in KindStaged, so that
// an install reads nothing from disk. A piece has a number, so that a command that is applied twice changes nothing. An
// upload that is not continued ends after StagedFor (TimedUpload).
//
// The first piece is that of stageHeader. The others are records of the uploaded state (Pieces). They come in the order
// of stagedKinds: a record comes after the records to which it refers.

// Bounds of an upload that the state machine takes. A node sends less: MaxUploadBytes.
const (
	MaxStagedBytes   = 64 << 20 // of all its pieces
	MaxStagedRecords = 10_000   // in all its pieces
	// MaxInstallKeys bounds the keys and sessions of the state that an install replaces.
	MaxInstallKeys = 10_000
	// StagedFor is the life of an upload after its last piece.
	StagedFor = 2 * time.Minute
)

// The jumps of an install, like those of a restore: no revision or token that users have seen ever decreases.
const (
	InstallRevisions = 1 << 40
	InstallEras      = 1 << 16
)

// staged is the current upload. The zero staged means that there is none.
type staged struct {
	id      string
	pieces  [][]byte // never changed
	bytes   int
	records int
}

func (s *staged) copy() staged {
	c := *s
	c.pieces = slices.Clip(s.pieces)
	return c
}

// timed returns the timer of the upload.
func (s *staged) timed() Timed {
	return Timed{Kind: TimedUpload, Name: s.id, Arm: uint64(len(s.pieces)), After: StagedFor}
}

// stageHeader returns the first piece of an upload, which has the slot and the meta record of the uploaded checkpoint.
func stageHeader(slot uint64, record []byte) ([]byte, error) {
	if _, err := decodeMeta(slot, record); err != nil {
		return nil, err
	}
	return append(binary.AppendUvarint(nil, slot), record...), nil
}

// parseStageHeader reads the first piece of an upload into a state at a feature level. A state of a higher level is
// refused: so does a release that does not know that level.
func parseStageHeader(piece []byte, level uint64) (meta, bool) {
	slot, n := binary.Uvarint(piece)
	if n <= 0 || slot == 0 {
		return meta{}, false
	}
	m, err := decodeMeta(slot, piece[n:])
	return m, err == nil && m.Level <= level
}

// stagedKinds are the kinds whose records belong to an upload, in order. Other records follow from these, or are this
// cluster's own: its members and its feature level.
var stagedKinds = [...]RecordKind{KindSession, KindFence, KindDelay, KindData}

// Staged reports whether records of s belong to an upload, and the place of s in its order.
func (s RecordKind) Staged() (place int, ok bool) {
	place = slices.Index(stagedKinds[:], s)
	return place, place >= 0
}

// appendStaged appends a record to a piece.
func appendStaged(piece []byte, c Change) []byte {
	piece = append(piece, byte(c.Kind))
	piece = binary.AppendUvarint(piece, uint64(len(c.Key)))
	piece = append(piece, c.Key...)
	piece = binary.AppendUvarint(piece, uint64(len(c.Value)))
	return append(piece, c.Value...)
}

// eachStaged calls fn with the records of a piece, which alias it, until fn returns false. It returns false if the
// piece is malformed.
func eachStaged(piece []byte, fn func(c Change) bool) bool {
	for len(piece) > 0 {
		c := Change{Kind: RecordKind(piece[0])}
		var ok bool
		if c.Key, piece, ok = cutPiece(piece[1:]); !ok {
			return false
		}
		if c.Value, piece, ok = cutPiece(piece); !ok {
			return false
		}
		if _, known := c.Kind.Staged(); !known {
			return false
		}
		if !fn(c) {
			return true
		}
	}
	return true
}

// stage carries out OpStage. Count of the result is the number of pieces so far.
func (s *staged) stage(c *Command, level uint64, ch *changes, l *ledger) Result {
	n, there := int(c.Num), len(s.pieces)
	if c.Session.ID != s.id {
		switch {
		case there > 0:
			return l.unchanged(CodeExists)
		case n > 0:
			return l.unchanged(CodeMissing)
		}
	}
	if n > there {
		return l.unchanged(CodeCondition)
	}
	if n == there {
		if code := s.add(c.Session.ID, c.Value, level); code != CodeDone {
			return l.unchanged(code)
		}
		ch.set(KindStaged, string(sequenceKey(uint64(n))), appendStagedPiece(nil, s.id, c.Value))
		l.notes.time(s.timed())
	}
	r := l.unchanged(CodeDone)
	r.Count = uint64(len(s.pieces))
	return r
}

// add adds a piece to an upload into a state at a feature level, unless it is malformed or exceeds a bound.
func (s *staged) add(id string, piece []byte, level uint64) Code {
	records := 0
	if len(s.pieces) == 0 {
		if _, ok := parseStageHeader(piece, level); !ok {
			return CodeMalformed
		}
	} else if !eachStaged(piece, func(Change) bool { records++; return true }) {
		return CodeMalformed
	}
	if s.bytes+len(piece) > MaxStagedBytes || s.records+records > MaxStagedRecords {
		return CodeTooLarge
	}
	s.id = id
	s.pieces = append(s.pieces, piece)
	s.bytes += len(piece)
	s.records += records
	return CodeDone
}

// drop carries out OpDropStaged. With an Arm it ends the upload only if that is the number of its pieces.
func (s *staged) drop(c *Command, ch *changes, l *ledger) Result {
	if c.Session.ID == s.id && (c.Arm == 0 || c.Arm == uint64(len(s.pieces))) {
		s.end(ch, &l.notes)
	}
	return l.unchanged(CodeDone)
}

// end discards the upload.
func (s *staged) end(ch *changes, n *notes) {
	for i := range s.pieces {
		ch.set(KindStaged, string(sequenceKey(uint64(i))), nil)
	}
	t := s.timed()
	t.After = 0
	n.time(t)
	*s = staged{}
}

func appendStagedPiece(buf []byte, id string, piece []byte) []byte {
	return append(appendPiece(append(buf, recordVersion), id), piece...)
}

// load adds the piece in a record of KindStaged.
func (s *staged) load(key string, b []byte) error {
	r := reader{b: b}
	r.version()
	id := r.sessionID()
	n, err := parseSequenceKey([]byte(key))
	if err != nil || r.bad || n != uint64(len(s.pieces)) || n > 0 && id != s.id ||
		s.add(id, []byte(string(r.b)), NewestLevel) != CodeDone {
		return damaged("piece %d of an upload: %w", n, errRecord)
	}
	return nil
}

// Upload returns the ID of the current upload and the number of its pieces, or "" and 0.
func (s *State) Upload() (id string, pieces int) {
	return s.exec.reg.staged.id, len(s.exec.reg.staged.pieces)
}

// upload is the decoded upload.
type upload struct {
	meta     meta
	sessions []*Session
	fences   map[string]uint64 // never ranged over, for determinism; see names
	names    []string
	delays   []Timed
	entries  []*Entry
}

// read decodes the pieces. It changes nothing, and returns false if a record is malformed.
func (s *staged) read() (u upload, ok bool) {
	if u.meta, ok = parseStageHeader(s.pieces[0], NewestLevel); !ok {
		return u, false
	}
	u.fences = map[string]uint64{}
	u.entries = make([]*Entry, 0, s.records)
	for _, piece := range s.pieces[1:] {
		eachStaged(piece, func(c Change) bool {
			ok = u.add(string(c.Key), c)
			return ok
		})
		if !ok {
			return u, false
		}
	}
	return u, true
}

func (u *upload) add(key string, c Change) bool {
	switch c.Kind {
	case KindSession:
		e, err := decodeSession(key, c.Value)
		u.sessions = append(u.sessions, e)
		return err == nil && len(key) == sessionIDBytes
	case KindFence:
		token, err := decodeNumber(key, c.Value)
		if _, twice := u.fences[key]; !twice {
			u.names = append(u.names, key)
		}
		u.fences[key] = token
		return err == nil && ValidateFence(key) == nil
	case KindDelay:
		t, err := decodeRunning(key, c.Value)
		u.delays = append(u.delays, Timed{Name: key, After: t.after})
		return err == nil && ValidateKey(key) == nil
	case KindData:
		e, err := decodeEntry(key, c.Value)
		u.entries = append(u.entries, &e)
		return err == nil && ValidateKey(key) == nil
	}
	panic(fmt.Sprintf("kv: a record of kind %d is staged", c.Kind))
}
