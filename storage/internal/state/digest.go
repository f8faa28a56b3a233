package state

import (
	"crypto/sha256"
	"encoding/binary"

	"tenure/kv"
)

// digest implements Store.Digest. The sum of the records has 64 bits, but it does not distinguish two records of the
// same length with the same CRC32C, which happens in one case of 2³². The hash here adds nothing to that.
func (m *Marks) digest() (slot, digest uint64) {
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
