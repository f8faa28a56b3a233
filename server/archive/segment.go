package archive

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"tenure/internal/codec"
	"tenure/internal/frames"
	"tenure/internal/ident"
)

const (
	kindHeader = 1
	kindValue  = 2
	kindEnd    = 3

	// maxSegmentMoments bounds the moments of a segment, and with them its header.
	maxSegmentMoments = 1024
	headerLimit       = 64 << 10
	valueLimit        = 32 << 20 // above the largest batch: 16 MiB of a value, and what is around it
	endLimit          = 128
)

// MaxSegmentBytes bounds a segment: the largest value may come when it is nearly full.
const MaxSegmentBytes = FullSegmentBytes + valueLimit + headerLimit + 1<<20

// A segment is closed when it has FullSegmentBytes or when its first slot has waited for SegmentFor.
const (
	FullSegmentBytes = 4 << 20
	SegmentFor       = time.Second
)

// ErrDamaged is wrapped by every error that says that a segment is not what a Builder made.
var ErrDamaged = errors.New("the segment is damaged")

var format = frames.Format{Magic: "TENURESG", Version: 1, Name: "a segment", Damaged: ErrDamaged, Limits: map[byte]int{
	kindHeader: headerLimit, kindValue: valueLimit, kindEnd: endLimit}}

// header is the body of the first frame. Fields are only added at the end.
type header struct {
	Cluster     ident.ClusterID
	First, Last uint64
	Before      Chain
	Moments     []Moment
}

// end is the body of the last frame.
type end struct {
	After  Chain
	SHA256 [sha256.Size]byte
}

// Builder collects the slots of a segment. Made by NewBuilder; used by one goroutine at a time.
type Builder struct {
	cluster       ident.ClusterID
	first         uint64
	before, after Chain
	values        [][]byte
	bytes         int
	began         time.Duration // reading of the clock when the first slot came
}

// NewBuilder returns a Builder of a segment that begins at slot first. before is the chain before it.
func NewBuilder(c ident.ClusterID, first uint64, before Chain) *Builder {
	return &Builder{cluster: c, first: first, before: before, after: before}
}

// Next returns the slot that Add takes next.
func (b *Builder) Next() uint64 { return b.first + uint64(len(b.values)) }

// Add adds the value chosen in slot, which must be b.Next(). It keeps value. now is a reading of any clock that does
// not go back; see Due.
func (b *Builder) Add(slot uint64, value []byte, now time.Duration) {
	if slot != b.Next() {
		panic(fmt.Sprintf("archive: slot %d was added where %d is the next", slot, b.Next()))
	}
	if len(b.values) == 0 {
		b.began = now
	}
	b.values = append(b.values, value)
	b.after = b.after.Next(slot, value)
	b.bytes += frames.HeadBytes + len(value) + frames.SumBytes
}

// Full reports whether no more slots should be added.
func (b *Builder) Full() bool { return b.bytes >= FullSegmentBytes }

// Due reports whether it is time to write the segment. One without slots is never due.
func (b *Builder) Due(now time.Duration) bool {
	return len(b.values) > 0 && (b.Full() || now-b.began >= SegmentFor)
}

// After returns the chain after the last slot.
func (b *Builder) After() Chain { return b.after }

// Encode returns the segment and its name. It is false if m does not know yet when the last slot was applied.
func (b *Builder) Encode(m *Moments) (name Segment, segment []byte, ok bool) {
	h := header{Cluster: b.cluster, First: b.first, Last: b.Next() - 1, Before: b.before}
	if h.Moments, ok = m.Between(h.First, h.Last, maxSegmentMoments/2); !ok {
		return Segment{}, nil, false
	}
	out := make([]byte, 0, b.bytes+4096+32*len(h.Moments))
	out = append(out, format.Begin()...)
	out = frames.Append(out, uint64(len(out)), kindHeader, codec.Marshal(&h))
	for _, v := range b.values {
		out = frames.Append(out, uint64(len(out)), kindValue, v)
	}
	out = frames.Append(out, uint64(len(out)), kindEnd, codec.Marshal(&end{After: b.after, SHA256: sha256.Sum256(out)}))
	sum := sha256.Sum256(out)
	return Segment{First: h.First, Last: h.Last, Reached: h.Moments[len(h.Moments)-1].Time(), After: b.after,
		Hash: [hashBytes]byte(sum[:hashBytes])}, out, true
}
