package kv

import (
	"errors"
	"fmt"
)

// stagedPieceBytes is the size of a piece. It is not much above the size of other commands, so that they need not wait
// long.
const stagedPieceBytes = 256 << 10

// MaxUploadBytes is how many bytes of pieces a node sends. It is below MaxStagedBytes, a rule of the state machine: an
// install of MaxStagedBytes holds up clients of three nodes for far longer than 50 ms (docs/performance.md).
const MaxUploadBytes = 8 << 20

// ErrUploadTooLarge means that a state exceeds the bounds of an upload.
var ErrUploadTooLarge = errors.New("too large to replace the state of a running cluster")

// Pieces makes the pieces of an upload from the records of a checkpoint. It is not safe for concurrent use.
type Pieces struct {
	header  []byte
	places  [len(stagedKinds)][][]byte
	bytes   int
	records int
}

// NewPieces returns the Pieces of a checkpoint through slot, whose meta record is record.
func NewPieces(slot uint64, record []byte) (*Pieces, error) {
	header, err := stageHeader(slot, record)
	return &Pieces{header: header, bytes: len(header)}, err
}

// Add adds a record, which it copies. It ignores records of kinds that do not belong to an upload. Its error wraps
// ErrUploadTooLarge.
func (p *Pieces) Add(c Change) error {
	place, ok := c.Kind.Staged()
	if !ok {
		return nil
	}
	list := &p.places[place]
	if n := len(*list); n == 0 || len((*list)[n-1])+len(c.Key)+len(c.Value) > stagedPieceBytes {
		*list = append(*list, nil)
	}
	last := &(*list)[len(*list)-1]
	was := len(*last)
	*last = appendStaged(*last, c)
	p.bytes += len(*last) - was
	p.records++
	if p.bytes > MaxUploadBytes || p.records > MaxStagedRecords || len(*last) > MaxValueBytes {
		return fmt.Errorf("%w: at most %d MiB, %d keys, sessions and fences, and values somewhat below %d MiB",
			ErrUploadTooLarge, MaxUploadBytes>>20, MaxStagedRecords, MaxValueBytes>>20)
	}
	return nil
}

// List returns the pieces, in the order in which to send them.
func (p *Pieces) List() [][]byte {
	out := [][]byte{p.header}
	for _, list := range p.places {
		out = append(out, list...)
	}
	return out
}
