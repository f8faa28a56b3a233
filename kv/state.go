package kv

import "fmt"

// State is the state machine. See the package comment for which calls exclude which. After an error of any of its
// methods it must not be used again: the image is damaged and part of a slot may have been applied.
type State struct {
	source   Source
	limits   Limits
	applied  uint64
	revision uint64
	active   *table
	frozen   *Frozen // the fold on its way to the image, or nil
	bytes    int64   // of active
	reg      registers
	dedup    dedup
	observer Observer

	folded  meta   // of the newest fold in the image
	settled graves // of that fold

	// While Apply runs:
	view    Image // open if it was needed, else nil
	stamped bool  // the command has its revision
	told    told
	command Command // scratch
	key     []byte  // scratch
}

// Open is the state that src holds. l must be the same on all nodes and in all runs (see Limits). It reads the
// idempotency keys and the registers, not the entries. An error wraps ErrDamaged or comes from src.
func Open(src Source, l Limits) (*State, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	slot, record, err := src.Loaded()
	if err != nil {
		return nil, fmt.Errorf("kv: read the image's slot: %w", err)
	}
	m, err := decodeMeta(slot, record)
	if err != nil {
		return nil, err
	}
	s := &State{source: src, limits: l, applied: slot, revision: m.Revision, active: newTable(), dedup: newDedup(l), folded: m}
	if err := s.load(); err != nil {
		return nil, fmt.Errorf("kv: read the tables of slot %d: %w", slot, err)
	}
	return s, nil
}

// load reads from the image what is in memory whole.
func (s *State) load() error {
	view, err := s.source.View()
	if err != nil {
		return err
	}
	defer view.Close()
	if err := s.loadDedup(view); err != nil {
		return err
	}
	if s.reg, err = loadRegisters(view, &s.folded); err != nil {
		return err
	}
	s.settled = s.reg.graves.copy()
	return nil
}

func (s *State) loadDedup(view Image) error {
	d := &s.dedup
	d.floor = s.folded.Floor
	d.queue.first, d.queue.next = s.folded.First, s.folded.First
	var broken error
	err := view.Ascend(SpaceDedup, nil, func(key, value []byte) bool {
		var seq uint64
		var m remembered
		if seq, broken = parseSequenceKey(key); broken != nil {
			return false
		}
		if m, broken = decodeRemembered(seq, value); broken != nil {
			return false
		}
		broken = d.load(seq, m)
		return broken == nil
	})
	if err != nil {
		return err
	}
	if broken != nil {
		return broken
	}
	if d.queue.next != s.folded.Next {
		return damaged("idempotency records up to %d are there, they should reach up to %d", d.queue.next, s.folded.Next)
	}
	return nil
}

// Applied is the slot that was applied last, 0 if none was.
func (s *State) Applied() uint64 { return s.applied }

// Revision is that of the newest change, 1 if there was never one.
func (s *State) Revision() uint64 { return s.revision }

// TableBytes is about the memory held by changes that are not in the image yet, those being folded included. What only
// open Snapshots hold is not in it. The shell bounds it by folding, and by taking no more writes.
func (s *State) TableBytes() int64 {
	n := s.bytes + s.dedup.bytes
	if s.frozen != nil {
		n += s.frozen.bytes
	}
	return n
}

// Get is the newest entry of key. It changes nothing in s: any number of goroutines may call it at a time. An error is
// damage.
func (s *State) Get(key string) (Entry, bool, error) {
	l := s.layers()
	if e, known := l.inTables(key); known {
		if e == nil {
			return Entry{}, false, nil
		}
		return *e, true, nil
	}
	image, err := s.source.View()
	if err != nil {
		return Entry{}, false, err
	}
	defer image.Close()
	l.image = image
	return l.get(key)
}

// layers is the newest state, without an image but while Apply runs.
func (s *State) layers() layers {
	l := layers{active: s.active, image: s.view}
	if s.frozen != nil {
		l.frozen = s.frozen.data
	}
	return l
}
