package explore

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// digest is the 128-bit fingerprint of a part or of a state. Two different states of one search share one with a
// probability of about n²/2¹²⁹ for n states: 10⁻²² for a hundred million.
type digest struct{ lo, hi uint64 }

// digestOf returns the fingerprint of an encoding. It is the same in every run.
func digestOf(b []byte) digest {
	sum := sha256.Sum256(b)
	return digest{binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:16])}
}

func (p digest) compare(o digest) int {
	return cmp.Or(cmp.Compare(p.hi, o.hi), cmp.Compare(p.lo, o.lo))
}

// plus returns a sum that does not depend on the order: the fingerprint of a set is the sum of its members'.
func (p digest) plus(o digest) digest {
	lo, carry := bits.Add64(p.lo, o.lo, 0)
	return digest{lo, p.hi + o.hi + carry}
}

// with adds the fingerprint of the next part of a state to p. The order of the calls counts.
func (p digest) with(o digest) digest {
	return digest{
		bits.RotateLeft64(p.lo^o.lo, 23)*0x9e3779b97f4a7c15 + o.hi,
		bits.RotateLeft64(p.hi^o.hi, 29)*0xc2b2ae3d27d4eb4f + o.lo,
	}
}

// end mixes the bits of p, so that any of them can choose a place in a table.
func (p digest) end() digest {
	a, b := p.lo^bits.RotateLeft64(p.hi, 32), p.hi
	a = (a ^ a>>33) * 0xff51afd7ed558ccd
	b = (b ^ b>>33 ^ a) * 0xc4ceb9fe1a85ec53
	return digest{a ^ a>>29 ^ b, b ^ b>>33}
}
