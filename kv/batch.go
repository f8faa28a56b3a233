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

// smallValueBytes is the most that a value may have which is written while space is short: a lock release carries one.
const smallValueBytes = 1 << 10

// Frees reports whether c goes on while space is short: it gives space back, keeps what is there alive, or ends it.
// Releasing a lock writes the value again, and counts as long as that is small.
func (c *Command) Frees() bool {
	switch c.Op {
	case OpDelete, OpPrune, OpRemove, OpSessionDestroy, OpSessionRenew, OpDropFence,
		OpEndSession, OpEndKey, OpEndDelay, OpNewEra, OpLevel, OpQuota, OpDropStaged,
		OpDropPolicy, OpDropToken, OpEndToken, OpBootstrap:
		return true
	case OpSet:
		return c.Lock == LockRelease && len(c.Value) <= smallValueBytes
	case OpUnlink:
		return true
	case OpTransaction, OpSequence:
		for i := range c.Parts {
			if !c.Parts[i].GoesOnFull() {
				return false
			}
		}
		return true
	}
	return false
}

// GoesOnFull reports whether c, which may be a part or step, is carried out while space is short: it Frees or only reads.
func (c *Command) GoesOnFull() bool { return c.Frees() || c.Op.onlyReads() }

// onlyReads reports whether op, a verb of a transaction or sequence, changes nothing.
func (op Op) onlyReads() bool {
	return op >= OpGet && op <= OpCheckValue || op == OpFetch || op == OpMeasure
}

// hasParts reports whether a command of op consists of others.
func (op Op) hasParts() bool { return op == OpTransaction || op == OpSequence }

// BatchFrees reports whether every command of batch goes on while space is short. One that cannot be decoded does:
// applying it changes nothing.
func BatchFrees(batch []byte) bool {
	frees := true
	_ = DecodeBatch(batch, func(b []byte) bool { // a broken rest is not applied
		var c Command
		payload, err := decodeHeader(b, &c)
		if err != nil {
			return true
		}
		if c.Value = payload; c.Op.hasParts() && decodeParts(payload, &c, nil) != nil {
			return true
		}
		frees = c.Frees()
		return frees
	})
	return frees
}
