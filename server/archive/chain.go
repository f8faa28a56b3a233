package archive

import (
	"crypto/sha256"
	"encoding/binary"

	"tenure/internal/ident"
)

// Chain is a digest of the slots of a log up to one.
type Chain [16]byte

// BeginChain returns the chain before slot first, at which an archive of a cluster begins, or goes on after a gap.
func BeginChain(c ident.ClusterID, first uint64) Chain {
	b := append([]byte("tenure archive"), c[:]...)
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(b, first))
	return Chain(sum[:len(Chain{})])
}

// Next returns the chain after slot, in which value was chosen. c is the chain before it.
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
