package archive

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"tenure/internal/ident"
)

const (
	fullDir     = "full/"
	logDir      = "log/"
	verifiedDir = "verified/"
	markerName  = "archive"

	hashBytes = 8
)

// Prefix returns the prefix of the names of all objects of a cluster.
func Prefix(c ident.ClusterID) string { return c.String() + "/" }

// Marker returns the name of the object that exists if there is an archive of the cluster.
func Marker(c ident.ClusterID) string { return Prefix(c) + markerName }

// FullPrefix returns the prefix of the names of the full copies.
func FullPrefix(c ident.ClusterID) string { return Prefix(c) + fullDir }

// VerifiedPrefix returns the prefix of the names of the verifications.
func VerifiedPrefix(c ident.ClusterID) string { return Prefix(c) + verifiedDir }

// LogPrefix returns the prefix of the names of the segments.
func LogPrefix(c ident.ClusterID) string { return Prefix(c) + logDir }

// HourPrefix returns the prefix of the names of the segments whose Reached is in the hour of t.
func HourPrefix(c ident.ClusterID, t time.Time) string {
	return LogPrefix(c) + t.UTC().Format("2006-01-02T15") + "/"
}

// Hours returns one time in each hour from the hour of from to the hour of through.
func Hours(from, through time.Time) (all []time.Time) {
	for t := from.UTC().Truncate(time.Hour); !t.After(through); t = t.Add(time.Hour) {
		all = append(all, t)
	}
	return all
}

// Full is the name of a full copy.
type Full struct {
	Slot     uint64 // the state is as it was after this slot
	Revision uint64
	Made     time.Time // the state had been reached by then; to the millisecond
	Node     uint64    // the node that made the copy
}

func (f Full) base() string {
	return fmt.Sprintf("%020d-%020d-%013d-%d", f.Slot, f.Revision, f.Made.UnixMilli(), f.Node)
}

// Name returns the name of the object.
func (f Full) Name(c ident.ClusterID) string { return FullPrefix(c) + f.base() }

// Verified is the name of a verification: the full copy was restored with the segments through slot Through, and the
// result was right.
type Verified struct {
	Full    Full
	Through uint64
	When    time.Time // to the millisecond
}

// Name returns the name of the object, which is empty.
func (v Verified) Name(c ident.ClusterID) string {
	return fmt.Sprintf("%s%s-%020d-%013d", VerifiedPrefix(c), v.Full.base(), v.Through, v.When.UnixMilli())
}

// Segment is the name of a segment.
type Segment struct {
	First, Last uint64
	Reached     time.Time       // the last slot had been applied by then; to the millisecond
	After       Chain           // the chain after the last slot
	Hash        [hashBytes]byte // the beginning of the segment's SHA-256
}

// Name returns the name of the object.
func (s Segment) Name(c ident.ClusterID) string {
	return fmt.Sprintf("%s%020d-%020d-%013d-%x-%x", HourPrefix(c, s.Reached), s.First, s.Last, s.Reached.UnixMilli(),
		s.After[:], s.Hash[:])
}

// parts parses the parts of a name between its dashes, one call each. Errors are collected: ended returns false after a
// missing or malformed part.
type parts struct {
	list []string
	bad  bool
}

func (p *parts) next() string {
	if len(p.list) == 0 {
		p.bad = true
		return ""
	}
	s := p.list[0]
	p.list = p.list[1:]
	return s
}

func (p *parts) number() uint64 {
	n, err := strconv.ParseUint(p.next(), 10, 64)
	p.bad = p.bad || err != nil
	return n
}

func (p *parts) time() time.Time {
	n := p.number()
	p.bad = p.bad || n >= 1e13 // does not fit into 13 digits
	return time.UnixMilli(int64(n)).UTC()
}

func (p *parts) hex(to []byte) {
	b, err := hex.DecodeString(p.next())
	if err != nil || len(b) != len(to) {
		p.bad = true
		return
	}
	copy(to, b)
}

func (p *parts) full() Full {
	return Full{Slot: p.number(), Revision: p.number(), Made: p.time(), Node: p.number()}
}

func (p *parts) ended() bool { return !p.bad && len(p.list) == 0 }
