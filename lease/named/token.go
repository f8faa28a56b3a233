package named

import (
	"fmt"
	"math"
)

// Token is a fencing token of one name: an era in the upper half, a count in the lower (N3). Of two owners of a name
// the later has the larger token.
type Token uint64

// FirstToken is the floor of an era: every token of it is larger.
func FirstToken(era uint32) Token { return Token(era) << 32 }

// Era is t's upper half.
func (t Token) Era() uint32 { return uint32(t >> 32) }

// HalfUsed reports whether it is time for a new era: the lower half of t is more than half used (N3).
func (t Token) HalfUsed() bool { return uint32(t) > math.MaxUint32/2 }

// next is t + 1 within its era; not ok when the era is used up, because nothing ever carries over (N3).
func (t Token) next() (Token, bool) {
	if uint32(t) == math.MaxUint32 {
		return 0, false
	}
	return t + 1, true
}

// String shows era and count, as in "3.17".
func (t Token) String() string { return fmt.Sprintf("%d.%d", t.Era(), uint32(t)) }
