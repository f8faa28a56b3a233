package storage

import (
	"crypto/sha256"
	"encoding/binary"

	"tenure/kv"
)

// Digest returns the slot of the newest checkpoint, and a digest of the whole state at that slot: of every record, and
// of kv's meta record, however they lie in the file. Stores with the same state at a slot have the same digest there,
// whatever checkpoints came before and whether the state came by the log or by a snapshot. It is kept up by each
// checkpoint and costs no reading. The slot is 0 while there is no checkpoint, or one is in its middle. Safe for
// concurrent use.
func (s *Store) Digest() (slot, digest uint64) { return s.state.checkpointed.Load().digest() }

// digest is Store.Digest. The sum of the records has 64 bits, but two of one length pass for each other if their CRC32C
// is the same, one case in 2³². What is made of it here adds nothing to that.
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
