package storage

import (
	"crypto/sha256"
	"encoding/binary"

	"tenure/kv"
)

// Digest returns the slot of the newest checkpoint and a digest of the whole state at that slot: of every record and of
// kv's meta record, independent of the layout of the file. Stores with the same state at a slot have the same digest
// there, whatever their earlier checkpoints, and whether the state came from the log or from a snapshot. Each
// checkpoint updates it, so that it costs no reading. The slot is 0 if there is no checkpoint or one is unfinished. It
// is safe for concurrent use.
func (s *Store) Digest() (slot, digest uint64) { return s.state.digest() }

// digest implements Store.Digest. The sum of the records has 64 bits, but it does not distinguish two records of the
// same length with the same CRC32C, which happens in one case of 2³². The hash here adds nothing to that.
func (m *checkpointMarks) digest() (slot, digest uint64) {
	if m.Slot == 0 || m.Plan.Slot != 0 {
		return 0, 0
	}
	b := make([]byte, 0, 4*8+len(m.Meta))
	for _, n := range [...]uint64{kv.DigestFormat, m.Slot, m.Records.Count, m.Records.Sum} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	sum := sha256.Sum256(append(b, m.Meta...))
	return m.Slot, binary.BigEndian.Uint64(sum[:])
}
