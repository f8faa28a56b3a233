package archive

import (
	"crypto/sha256"
	"encoding/binary"

	"tenure/internal/ident"
)

// Chain is a digest of all slots of a log up to some slot; see the package comment.
type Chain [16]byte

// BeginChain returns the chain before slot first, where an archive of a cluster begins, or continues after a gap.
func BeginChain(c ident.ClusterID, first uint64) Chain {
	b := append([]byte("tenure archive"), c[:]...)
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(b, first))
	return Chain(sum[:len(Chain{})])
}

// Next returns the chain after slot, in which value was chosen, given the chain c before it.
func (c Chain) Next(slot uint64, value []byte) Chain {
	h := sha256.New()
	var head [len(c) + 16]byte
	copy(head[:], c[:])
	binary.BigEndian.PutUint64(head[len(c):], slot)
	binary.BigEndian.PutUint64(head[len(c)+8:], uint64(len(value)))
	h.Write(head[:])
	h.Write(value)
	return Chain(h.Sum(head[:0])[:len(c)])
}
