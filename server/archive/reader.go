package archive

import (
	"crypto/sha256"
	"fmt"

	"tenure/internal/codec"
	"tenure/internal/frames"
	"tenure/internal/ident"
)

// Content is a decoded segment.
type Content struct {
	Cluster     ident.ClusterID
	First, Last uint64
	Before      Chain
	After       Chain
	Moments     []Moment // sorted by slot; the last one is of Last
	Values      [][]byte // of the slots from First to Last; they alias the bytes that were read
}

// ReadSegment decodes a segment and checks all of it, also that it belongs to its name. b may be any bytes. Its errors
// wrap ErrDamaged.
func ReadSegment(c ident.ClusterID, name Segment, b []byte) (Content, error) {
	out, err := readSegment(b)
	if err != nil {
		return Content{}, err
	}
	sum := sha256.Sum256(b)
	switch {
	case out.Cluster != c:
		return Content{}, damagedAt(0, "it is of cluster %s, not of %s", out.Cluster, c)
	case [hashBytes]byte(sum[:hashBytes]) != name.Hash || out.First != name.First || out.Last != name.Last ||
		out.After != name.After:
		return Content{}, damagedAt(0, "it has the slots %d to %d, and another segment has its name", out.First,
			out.Last)
	}
	return out, nil
}

func readSegment(b []byte) (Content, error) {
	if err := format.CheckPrelude(b); err != nil {
		return Content{}, err
	}
	at := frames.PreludeBytes
	body, next, err := frame(b, at, kindHeader)
	if err != nil {
		return Content{}, err
	}
	var h header
	if err := codec.Unmarshal(body, &h); err != nil {
		return Content{}, damagedAt(at, "the header: %w", err)
	}
	if err := h.check(uint64(len(b))); err != nil {
		return Content{}, damagedAt(at, "the header: %w", err)
	}
	out := Content{Cluster: h.Cluster, First: h.First, Last: h.Last, Before: h.Before, After: h.Before,
		Moments: h.Moments}
	for slot := h.First; slot <= h.Last; slot++ {
		at = next
		if body, next, err = frame(b, at, kindValue); err != nil {
			return Content{}, err
		}
		out.Values = append(out.Values, body)
		out.After = out.After.Next(slot, body)
	}
	return out, out.end(b, next)
}

// check returns an error if h cannot be the header of a segment of so many bytes.
func (h *header) check(bytes uint64) error {
	switch {
	case h.First == 0 || h.First > h.Last || h.Last-h.First >= bytes:
		return fmt.Errorf("it has the slots %d to %d", h.First, h.Last)
	case len(h.Moments) == 0 || h.Moments[len(h.Moments)-1].Slot != h.Last:
		return fmt.Errorf("it does not say when its last slot was applied")
	}
	for i, m := range h.Moments {
		if m.Slot < h.First || i > 0 && (m.Slot <= h.Moments[i-1].Slot || m.TimeMS < h.Moments[i-1].TimeMS) {
			return fmt.Errorf("its moments are not in order")
		}
	}
	return nil
}

// end checks the last frame, at byte at.
func (c *Content) end(b []byte, at int) error {
	body, next, err := frame(b, at, kindEnd)
	if err != nil {
		return err
	}
	var e end
	if err := codec.Unmarshal(body, &e); err != nil {
		return damagedAt(at, "the end: %w", err)
	}
	switch {
	case e.After != c.After:
		return damagedAt(at, "the end is of other slots")
	case e.SHA256 != sha256.Sum256(b[:at]):
		return damagedAt(at, "the end has another SHA-256")
	case next != len(b):
		return damagedAt(next, "there is something behind the end")
	}
	return nil
}

// frame reads the frame at byte at, which must be of a kind, and returns where the next one begins.
func frame(b []byte, at int, kind byte) (body []byte, next int, err error) {
	if len(b)-at < frames.HeadBytes+frames.SumBytes {
		return nil, 0, damagedAt(at, "it ends within a frame")
	}
	head := b[at : at+frames.HeadBytes]
	found, length, err := format.CheckHead(uint64(at), head)
	if err != nil {
		return nil, 0, err
	}
	begin := at + frames.HeadBytes
	end := begin + length
	if end > len(b)-frames.SumBytes {
		return nil, 0, damagedAt(at, "it ends within a frame of %d bytes", length)
	}
	next = end + frames.SumBytes
	if err := format.CheckSum(uint64(at), head, b[begin:end], b[end:next]); err != nil {
		return nil, 0, err
	}
	if found != kind {
		return nil, 0, damagedAt(at, "a frame of kind %d instead of %d", found, kind)
	}
	return b[begin:end:end], next, nil
}

func damagedAt(at int, text string, args ...any) error {
	return format.DamagedAt(uint64(at), text, args...)
}

// Follows returns an error unless c continues the log that ends at slot end with chain after. c must have slot end+1,
// and may overlap earlier slots. A new chain, at the beginning of an archive or after a gap, follows anything.
func (c *Content) Follows(end uint64, after Chain) error {
	if c.Before == BeginChain(c.Cluster, c.First) {
		return nil
	}
	chain := c.Before
	for i := 0; c.First+uint64(i) <= end; i++ {
		chain = chain.Next(c.First+uint64(i), c.Values[i])
	}
	if chain != after {
		return fmt.Errorf("%w: it goes on with another log than the segment before it", ErrDamaged)
	}
	return nil
}
