package archive

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
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

// Prefix returns what the names of all objects of a cluster begin with.
func Prefix(c ident.ClusterID) string { return c.String() + "/" }

// Marker returns the name of the object that says that there is an archive of the cluster.
func Marker(c ident.ClusterID) string { return Prefix(c) + markerName }

// FullPrefix, VerifiedPrefix and LogPrefix return what the names of the full copies, of what says that they were
// verified, and of the segments begin with.
func FullPrefix(c ident.ClusterID) string { return Prefix(c) + fullDir }

// VerifiedPrefix is described at FullPrefix.
func VerifiedPrefix(c ident.ClusterID) string { return Prefix(c) + verifiedDir }

// LogPrefix is described at FullPrefix.
func LogPrefix(c ident.ClusterID) string { return Prefix(c) + logDir }

// HourPrefix returns what the names of the segments begin with that were reached in the hour of t.
func HourPrefix(c ident.ClusterID, t time.Time) string {
	return LogPrefix(c) + t.UTC().Format("2006-01-02T15") + "/"
}

// Hours returns a time in each hour from that of from to that of through.
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
	Made     time.Time // the state had been reached by then; in ms
	Node     uint64    // that made it
}

func (f Full) base() string {
	return fmt.Sprintf("%020d-%020d-%013d-%d", f.Slot, f.Revision, f.Made.UnixMilli(), f.Node)
}

// Name returns the name of the object.
func (f Full) Name(c ident.ClusterID) string { return FullPrefix(c) + f.base() }

// Verified says that a full copy was restored, with the segments after it through a slot, and was as it should be.
type Verified struct {
	Full    Full
	Through uint64
	When    time.Time // in ms
}

// Name returns the name of the object, which is empty.
func (v Verified) Name(c ident.ClusterID) string {
	return fmt.Sprintf("%s%s-%020d-%013d", VerifiedPrefix(c), v.Full.base(), v.Through, v.When.UnixMilli())
}

// Segment is the name of a segment.
type Segment struct {
	First, Last uint64
	Reached     time.Time // the last slot had been applied by then; in ms
	After       Chain     // after the last slot
	Hash        [hashBytes]byte
}

// Name returns the name of the object.
func (s Segment) Name(c ident.ClusterID) string {
	return fmt.Sprintf("%s%020d-%020d-%013d-%x-%x", HourPrefix(c, s.Reached), s.First, s.Last, s.Reached.UnixMilli(),
		s.After[:], s.Hash[:])
}

// Listing is what the names of the objects of one cluster say. What they are sorted by is said at each.
type Listing struct {
	Cluster  ident.ClusterID
	Fulls    []Full     // by Slot, then Made
	Segments []Segment  // by First, then Last
	Verified []Verified // by When
}

// List reads names. Those of other clusters, and those that nothing here has written, are left out.
func List(c ident.ClusterID, names []string) Listing {
	l := Listing{Cluster: c}
	for _, name := range names {
		l.add(name)
	}
	slices.SortFunc(l.Fulls, compareFulls)
	slices.SortFunc(l.Segments, compareSegments)
	slices.SortFunc(l.Verified, func(a, b Verified) int {
		if c := a.When.Compare(b.When); c != 0 {
			return c
		}
		return compareFulls(a.Full, b.Full)
	})
	return l
}

func compareFulls(a, b Full) int { return strings.Compare(a.base(), b.base()) }

// compareSegments makes the order the same for any order of the names.
func compareSegments(a, b Segment) int {
	if c := cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last)); c != 0 {
		return c
	}
	return strings.Compare(a.Name(ident.ClusterID{}), b.Name(ident.ClusterID{}))
}

func (l *Listing) add(name string) {
	rest, ok := strings.CutPrefix(name, Prefix(l.Cluster))
	if !ok {
		return
	}
	dir, base, _ := strings.Cut(rest, "/")
	p := parts{list: strings.Split(base, "-")}
	switch dir + "/" {
	case fullDir:
		if f := p.full(); p.ended() && f.Name(l.Cluster) == name {
			l.Fulls = append(l.Fulls, f)
		}
	case verifiedDir:
		v := Verified{Full: p.full(), Through: p.number(), When: p.time()}
		if p.ended() && v.Name(l.Cluster) == name {
			l.Verified = append(l.Verified, v)
		}
	case logDir:
		_, base, _ = strings.Cut(base, "/")
		p = parts{list: strings.Split(base, "-")}
		s := Segment{First: p.number(), Last: p.number(), Reached: p.time()}
		p.hex(s.After[:])
		p.hex(s.Hash[:])
		if p.ended() && s.First <= s.Last && s.First > 0 && s.Name(l.Cluster) == name {
			l.Segments = append(l.Segments, s)
		}
	}
}

// Clusters returns the clusters of which names are, sorted.
func Clusters(names []string) (all []ident.ClusterID) {
	for _, name := range names {
		text, _, ok := strings.Cut(name, "/")
		var c ident.ClusterID
		if b, err := hex.DecodeString(text); ok && err == nil && len(b) == len(c) {
			if c = ident.ClusterID(b); c.String() == text && !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	slices.SortFunc(all, func(a, b ident.ClusterID) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// End returns the segment that ends last, and false if there is none.
func (l *Listing) End() (end Segment, ok bool) {
	for _, s := range l.Segments {
		if s.Last > end.Last {
			end, ok = s, true
		}
	}
	return end, ok
}

// NewestVerified returns the newest full copy that was verified and is still there, and when it was; false if there is
// none.
func (l *Listing) NewestVerified() (newest Verified, ok bool) {
	for _, v := range l.Verified {
		if slices.Contains(l.Fulls, v.Full) && (!ok || compareFulls(v.Full, newest.Full) >= 0) {
			newest, ok = v, true
		}
	}
	return newest, ok
}

// parts are the parts of a name between its dashes. What is missing or is no number shows in ended.
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
	p.bad = p.bad || n >= 1e13 // later than the 13 digits tell
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

// Drop takes a full copy out of the listing, and reports whether another one is left.
func (l *Listing) Drop(f Full) bool {
	l.Fulls = slices.DeleteFunc(slices.Clone(l.Fulls), func(g Full) bool { return g == f })
	return len(l.Fulls) > 0
}
