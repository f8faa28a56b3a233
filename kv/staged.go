package kv

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/tidwall/btree"
)

// An upload is a state that is to replace this one: OpStage brings it in pieces, OpInstall puts it in place, and
// OpDropStaged ends it unused. There is one at a time. Its pieces are kept as they came, in memory and in SpaceStaged, so
// that an install reads no disk; each is named by its number, so that a copy of a command that comes twice changes
// nothing. An upload that nobody goes on with ends after StagedFor (TimedUpload).
//
// The first piece is what stageHeader returns, the others records of the uploaded state (Pieces), in the order of
// stagedSpaces: what an entry points to comes before it.

// Bounds of an upload that the state machine takes. What a node sends is less: MaxUploadBytes.
const (
	MaxStagedBytes   = 64 << 20 // of all its pieces
	MaxStagedRecords = 10_000   // in all its pieces
	// MaxInstallKeys is how many keys and sessions the state may have that an install replaces.
	MaxInstallKeys = 10_000
	// StagedFor is how long an upload lives after its last piece.
	StagedFor = 2 * time.Minute
)

// The jumps of an install, as those of a restore: nothing that users have seen ever falls.
const (
	InstallRevisions = 1 << 40
	InstallEras      = 1 << 16
)

// staged is the upload on its way; the zero staged is none.
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

// timed is what runs for the upload.
func (s *staged) timed() Timed {
	return Timed{Kind: TimedUpload, Name: s.id, Arm: uint64(len(s.pieces)), After: StagedFor}
}

// stageHeader returns the first piece of an upload: how far the uploaded state had come, by the meta record of its
// checkpoint through slot.
func stageHeader(slot uint64, record []byte) ([]byte, error) {
	if _, err := decodeMeta(slot, record); err != nil {
		return nil, err
	}
	return append(binary.AppendUvarint(nil, slot), record...), nil
}

func parseStageHeader(piece []byte) (meta, bool) {
	slot, n := binary.Uvarint(piece)
	if n <= 0 || slot == 0 {
		return meta{}, false
	}
	m, err := decodeMeta(slot, piece[n:])
	return m, err == nil
}

// stagedSpaces are those whose records belong into an upload, in their order. What else there is follows from these, or
// is this cluster's own: its members and its feature level.
var stagedSpaces = [...]Space{SpaceSession, SpaceFence, SpaceDelay, SpaceData}

// Staged reports whether records of s belong into an upload, and which place they have in its order.
func (s Space) Staged() (place int, ok bool) {
	place = slices.Index(stagedSpaces[:], s)
	return place, place >= 0
}

// appendStaged puts a record behind the others in a piece.
func appendStaged(piece []byte, c Change) []byte {
	piece = append(piece, byte(c.Space))
	piece = binary.AppendUvarint(piece, uint64(len(c.Key)))
	piece = append(piece, c.Key...)
	piece = binary.AppendUvarint(piece, uint64(len(c.Value)))
	return append(piece, c.Value...)
}

// eachStaged calls fn with the records of a piece, which alias it, until fn returns false. It reports whether it is one.
func eachStaged(piece []byte, fn func(c Change) bool) bool {
	for len(piece) > 0 {
		c := Change{Space: Space(piece[0])}
		var ok bool
		if c.Key, piece, ok = cutPiece(piece[1:]); !ok {
			return false
		}
		if c.Value, piece, ok = cutPiece(piece); !ok {
			return false
		}
		if _, known := c.Space.Staged(); !known {
			return false
		}
		if !fn(c) {
			return true
		}
	}
	return true
}

// stage carries out OpStage. Count is the number of pieces that are there now.
func (x *executor) stage(c *Command) Result {
	s := &x.reg.staged
	n, there := int(c.Num), len(s.pieces)
	if c.Session.ID != s.id {
		switch {
		case there > 0:
			return x.unchanged(CodeExists)
		case n > 0:
			return x.unchanged(CodeMissing)
		}
	}
	if n > there {
		return x.unchanged(CodeCondition)
	}
	if n == there {
		if code := s.add(c.Session.ID, c.Value); code != CodeDone {
			return x.unchanged(code)
		}
		x.reg.changes.set(SpaceStaged, string(sequenceKey(uint64(n))), appendStagedPiece(nil, s.id, c.Value))
		x.notes.time(s.timed())
	}
	r := x.unchanged(CodeDone)
	r.Count = uint64(len(s.pieces))
	return r
}

// add keeps a piece, unless it is none or too much.
func (s *staged) add(id string, piece []byte) Code {
	records := 0
	if len(s.pieces) == 0 {
		if _, ok := parseStageHeader(piece); !ok {
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

// dropStaged carries out OpDropStaged. With an Arm it ends only an upload that has so many pieces.
func (x *executor) dropStaged(c *Command) Result {
	s := &x.reg.staged
	if c.Session.ID == s.id && (c.Arm == 0 || c.Arm == uint64(len(s.pieces))) {
		x.endUpload()
	}
	return x.unchanged(CodeDone)
}

// endUpload forgets the upload.
func (x *executor) endUpload() {
	s := &x.reg.staged
	for n := range s.pieces {
		x.reg.changes.set(SpaceStaged, string(sequenceKey(uint64(n))), nil)
	}
	t := s.timed()
	t.After = 0
	x.notes.time(t)
	*s = staged{}
}

func appendStagedPiece(buf []byte, id string, piece []byte) []byte {
	return append(appendPiece(append(buf, recordVersion), id), piece...)
}

// load reads a record of SpaceStaged.
func (s *staged) load(key string, b []byte) error {
	r := reader{b: b}
	r.version()
	id := r.sessionID()
	n, err := parseSequenceKey([]byte(key))
	if err != nil || r.bad || n != uint64(len(s.pieces)) || n > 0 && id != s.id ||
		s.add(id, []byte(string(r.b))) != CodeDone {
		return damaged("piece %d of an upload: %w", n, errRecord)
	}
	return nil
}

// Upload returns the upload that is on its way and how many pieces it has, or nothing.
func (s *State) Upload() (id string, pieces int) {
	return s.exec.reg.staged.id, len(s.exec.reg.staged.pieces)
}

// upload is what an install reads out of the pieces.
type upload struct {
	meta     meta
	sessions []*Session
	fences   map[string]uint64 // never ranged over; see names
	names    []string
	delays   []Timed
	entries  []*Entry
}

// read takes the pieces apart. It changes nothing, and reports false if a record is none.
func (s *staged) read() (u upload, ok bool) {
	if u.meta, ok = parseStageHeader(s.pieces[0]); !ok {
		return u, false
	}
	u.fences = map[string]uint64{}
	u.entries = make([]*Entry, 0, s.records)
	for _, piece := range s.pieces[1:] {
		eachStaged(piece, func(c Change) bool {
			ok = u.take(string(c.Key), c)
			return ok
		})
		if !ok {
			return u, false
		}
	}
	return u, true
}

func (u *upload) take(key string, c Change) bool {
	switch c.Space {
	case SpaceSession:
		e, err := decodeSession(key, c.Value)
		u.sessions = append(u.sessions, e)
		return err == nil && len(key) == sessionIDBytes
	case SpaceFence:
		token, err := decodeNumber(key, c.Value)
		if _, twice := u.fences[key]; !twice {
			u.names = append(u.names, key)
		}
		u.fences[key] = token
		return err == nil && ValidateFence(key) == nil
	case SpaceDelay:
		t, err := decodeRunning(key, c.Value)
		u.delays = append(u.delays, Timed{Name: key, After: t.after})
		return err == nil && ValidateKey(key) == nil
	case SpaceData:
		e, err := decodeEntry(key, c.Value)
		u.entries = append(u.entries, &e)
		return err == nil && ValidateKey(key) == nil
	}
	panic(fmt.Sprintf("kv: a record of space %d is staged", c.Space))
}

// clear empties r but for what no upload replaces, and notes what ends.
func (x *executor) clear(revision uint64) {
	r := &x.reg
	r.sessions.byID.Scan(func(id string, e *Session) bool {
		r.changes.set(SpaceSession, id, nil)
		if e.TTL > 0 {
			x.notes.time(Timed{Kind: TimedSession, Name: id, Arm: e.Renewals})
		}
		x.notes.session(revision, id)
		return true
	})
	r.sessions.held.Scan(func(key string, _ struct{}) bool { r.changes.set(SpaceHeld, key, nil); return true })
	end := func(space Space, kind TimedKind, table *btree.Map[string, running]) {
		table.Scan(func(key string, t running) bool {
			r.changes.set(space, key, nil)
			x.notes.time(Timed{Kind: kind, Name: key, Arm: t.arm})
			return true
		})
	}
	end(SpaceExpiry, TimedKey, r.times.expiry)
	end(SpaceDelay, TimedDelay, r.times.delays)
	r.sessions, r.times, r.tombstones = newSessions(), newTimes(), newTombstones()
	r.sessions.index, r.tombstones.floor = revision, revision
}
