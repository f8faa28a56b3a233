package kv

import (
	"crypto/sha256"
	"encoding/binary"
)

// DigestFormat numbers what storage's digests of checkpoints are made of: the records and the meta record that the same
// commands leave in the state database, and how they are summed up. Digests of different formats are never compared. A
// version that writes anything else for the same commands raises it; what a feature level changes is no reason, because
// the level is a command too.
const DigestFormat = 1

// Digest returns a SHA-256 over everything that decides later results and reads: slot, revision, idempotency keys,
// floor, the registers and all entries, wherever they are kept. States with equal applied slots have equal digests. It
// reads the whole state database. It must not run beside writes.
func (s *State) Digest() ([sha256.Size]byte, error) {
	h := sha256.New()
	var buf []byte
	q := &s.dedup.queue
	for _, n := range []uint64{s.applied, s.exec.revision, s.dedup.floor, q.first, q.next} {
		buf = binary.BigEndian.AppendUint64(buf, n)
	}
	h.Write(buf)
	for seq := q.first; seq < q.next; seq++ {
		buf = appendRemembered(buf[:0], q.at(seq))
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(buf))))
		h.Write(buf)
	}
	s.exec.reg.digest(h)
	v, err := s.Snapshot()
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	defer v.Close()
	err = v.Walk(Range{}, func(e Entry) bool {
		buf = append(buf[:0], e.Key...)
		buf = appendEntry(buf, &e)
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(e.Key))))
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(buf))))
		h.Write(buf)
		return true
	})
	return [sha256.Size]byte(h.Sum(nil)), err
}
