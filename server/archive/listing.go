package archive

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strings"

	"tenure/internal/ident"
)

// Listing has the objects of one cluster, as their names describe them.
type Listing struct {
	Cluster  ident.ClusterID
	Fulls    []Full     // sorted by Slot, then Revision, then Made
	Segments []Segment  // sorted by First, then Last
	Verified []Verified // sorted by When
}

// List parses names. It ignores names of other clusters, and names that no method of this package returns.
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

// compareSegments is a total order, so the result of List does not depend on the order of the names.
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

// Clusters returns the clusters whose objects are among names, sorted.
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

// End returns the segment with the highest last slot, and false if there is no segment.
func (l *Listing) End() (end Segment, ok bool) {
	for _, s := range l.Segments {
		if s.Last > end.Last {
			end, ok = s, true
		}
	}
	return end, ok
}

// NewestVerified returns the newest verification of the newest verified full copy that still exists, and false if there
// is none.
func (l *Listing) NewestVerified() (newest Verified, ok bool) {
	for _, v := range l.Verified {
		if slices.Contains(l.Fulls, v.Full) && (!ok || compareFulls(v.Full, newest.Full) >= 0) {
			newest, ok = v, true
		}
	}
	return newest, ok
}

// Drop removes a full copy from the listing, and reports whether another one is left.
func (l *Listing) Drop(f Full) bool {
	l.Fulls = slices.DeleteFunc(slices.Clone(l.Fulls), func(g Full) bool { return g == f })
	return len(l.Fulls) > 0
}
