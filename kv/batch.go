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
		cmd, rest, ok := cutCommand(batch)
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

// countCommands is how many results batch needs, at most: its commands, and one for a broken rest.
func countCommands(batch []byte) int {
	for n := 0; ; n++ {
		_, rest, ok := cutCommand(batch)
		if !ok || n == MaxBatchCommands {
			return n + 1
		}
		batch = rest
	}
}

// cutCommand splits the first command off a batch; false if there is no whole one.
func cutCommand(batch []byte) (cmd, rest []byte, ok bool) {
	size, n := binary.Uvarint(batch)
	if n <= 0 || size > uint64(len(batch)-n) {
		return nil, nil, false
	}
	end := n + int(size)
	return batch[n:end:end], batch[end:], true
}
