package load

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"tenure/cmd/kvctl/internal/records"
)

// Sum is a digest of the records that a run has read, and of its treatment of existing keys.
type Sum [8]byte

// summer makes a Sum.
type summer struct{ hash hash.Hash }

func newSummer(c Conflict) summer {
	s := summer{sha256.New()}
	s.hash.Write([]byte(c))
	return s
}

func (s summer) add(list []records.Record) {
	for i := range list {
		r := &list[i]
		var head [4 * 8]byte
		for n, v := range [...]uint64{uint64(len(r.Key)), uint64(len(r.Value)), r.Flags, uint64(r.TTL)} {
			binary.BigEndian.PutUint64(head[8*n:], v)
		}
		s.hash.Write(head[:])
		s.hash.Write([]byte(r.Key))
		s.hash.Write(r.Value)
	}
}

// sum returns that of what was added so far.
func (s summer) sum() Sum { return Sum(s.hash.Sum(nil)[:len(Sum{})]) }
