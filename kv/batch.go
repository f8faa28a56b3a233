package kv

import (
	"encoding/binary"
	"fmt"
)

// AppendBatch puts an encoded command behind the others in buf, which is a batch: each command preceded by its length
// as a uvarint. The empty batch has no bytes. At most MaxBatchCommands belong in one.
func AppendBatch(buf []byte, cmd []byte) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(cmd)))
	return append(buf, cmd...)
}

// DecodeBatch calls fn with the encoded commands of batch in order, until fn says false. They alias batch. It allocates
// nothing. An error wraps ErrCommand and comes after the commands before the broken place.
func DecodeBatch(batch []byte, fn func(cmd []byte) bool) error {
	for n := 0; len(batch) > 0; n++ {
		cmd, rest, ok := cutPiece(batch)
		if !ok {
			return fmt.Errorf("%w: the batch breaks off after %d commands", ErrCommand, n)
		}
		if n == MaxBatchCommands {
			return fmt.Errorf("%w: the batch holds more than %d commands", ErrCommand, n)
		}
		if !fn(cmd) {
			return nil
		}
		batch = rest
	}
	return nil
}

// countCommands returns how many results batch needs, at most: its commands, and one for a broken rest.
func countCommands(batch []byte) int {
	for n := 0; ; n++ {
		_, rest, ok := cutPiece(batch)
		if !ok || n == MaxBatchCommands {
			return n + 1
		}
		batch = rest
	}
}

// cutPiece splits the first length-prefixed piece off b: a command off a batch, the header off a command; false if
// there is no whole one.
func cutPiece(b []byte) (piece, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, false
	}
	end := n + int(size)
	return b[n:end:end], b[end:], true
}
