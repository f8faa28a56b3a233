package recovery

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"tenure/internal/shown"
	"tenure/server/archive"
)

// Catalog is what the archive of a cluster can restore. Times are those by which a state had been reached.
type Catalog struct {
	Cluster  string          `json:"cluster"`
	Ranges   []CatalogRange  `json:"ranges"`
	Gaps     []CatalogGap    `json:"gaps"`     // between the ranges
	Verified *CatalogVerdict `json:"verified"` // null: nothing was verified yet
	Notes    []string        `json:"notes,omitempty"`
}

// CatalogRange is a range of which every revision and every time can be restored.
type CatalogRange struct {
	FirstRevision uint64 `json:"first_revision"`
	// LastRevision can be restored; higher ones too unless LastIsEnd.
	LastRevision uint64    `json:"last_revision"`
	LastIsEnd    bool      `json:"last_revision_is_end"`
	From         time.Time `json:"from"`
	To           time.Time `json:"to"`
	FirstSlot    uint64    `json:"first_slot"`
	LastSlot     uint64    `json:"last_slot"`
	FullCopies   int       `json:"full_copies"`
	Segments     int       `json:"segments"`
}

// CatalogGap is what lies between two ranges: the changes in these slots cannot be restored one by one.
type CatalogGap struct {
	FirstSlot uint64    `json:"first_slot"`
	LastSlot  uint64    `json:"last_slot"`
	After     time.Time `json:"after"`
	Before    time.Time `json:"before"`
}

// CatalogVerdict is the newest verification: the full copy of Revision and what follows it through slot Through were
// restored and compared.
type CatalogVerdict struct {
	Revision uint64    `json:"revision"`
	Through  uint64    `json:"through_slot"`
	When     time.Time `json:"when"`
}

// ListArchive returns what the archive from, listed in l, can restore. It goes by the names, and reads the last segment
// of each range for its newest revision, which no name has.
func ListArchive(ctx context.Context, from Archive, l archive.Listing) Catalog {
	c := Catalog{Cluster: l.Cluster.String(), Ranges: []CatalogRange{}, Gaps: []CatalogGap{}}
	ranges := l.Ranges()
	for i, r := range ranges {
		out := CatalogRange{FirstRevision: r.First.Revision, From: r.First.Made.UTC(), To: r.Reached.UTC(),
			FirstSlot: r.First.Slot, LastSlot: r.Last, FullCopies: r.Fulls, Segments: r.Segments}
		for _, f := range l.Fulls {
			if f.Slot <= r.Last {
				out.LastRevision, out.LastIsEnd = f.Revision, f.Slot == r.Last
			}
		}
		if r.End.Last > 0 {
			if err := out.readEnd(ctx, from, l, r.End); err != nil {
				c.Notes = append(c.Notes, fmt.Sprintf("the newest revision up to slot %d is not known: %v", r.Last, err))
			}
		}
		c.Ranges = append(c.Ranges, out)
		if i+1 < len(ranges) {
			g := r.GapAfter(ranges[i+1])
			c.Gaps = append(c.Gaps, CatalogGap{FirstSlot: g.First, LastSlot: g.Last, After: out.To,
				Before: ranges[i+1].First.Made.UTC()})
		}
	}
	if v, ok := l.NewestVerified(); ok {
		c.Verified = &CatalogVerdict{Revision: v.Full.Revision, Through: v.Through, When: v.When.UTC()}
	}
	return c
}

// readEnd takes the newest revision from the last segment.
func (r *CatalogRange) readEnd(ctx context.Context, from Archive, l archive.Listing, end archive.Segment) error {
	b, err := from.Segment(ctx, l.Cluster, end)
	if err != nil {
		return err
	}
	content, err := archive.ReadSegment(l.Cluster, end, b)
	if err != nil {
		return err
	}
	for _, m := range content.Moments {
		if m.Revision >= r.LastRevision && m.Revision > 0 {
			r.LastRevision, r.LastIsEnd = m.Revision, m.Slot == r.LastSlot
		}
	}
	return nil
}

// WriteCatalogs writes catalogs as indented JSON.
func WriteCatalogs(w io.Writer, all []Catalog) error {
	return writeJSON(w, struct {
		Clusters []Catalog `json:"clusters"`
	}{all})
}

// Write writes c as text for people.
func (c *Catalog) Write(w io.Writer) error {
	t := tabwriter.NewWriter(shown.Writer(w), 0, 0, 2, ' ', 0)
	line := func(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) } // Flush returns the first error
	line("cluster %s", c.Cluster)
	if len(c.Ranges) == 0 {
		line("nothing can be restored: there is no full copy")
	} else {
		line("CAN BE RESTORED\tREVISIONS\tFROM\tTO\tFULL COPIES\tSEGMENTS")
	}
	for i, r := range c.Ranges {
		more := ""
		if !r.LastIsEnd {
			more = " or more"
		}
		line("yes\t%d to %d%s\t%s\t%s\t%d\t%d", r.FirstRevision, r.LastRevision, more, moment(r.From), moment(r.To),
			r.FullCopies, r.Segments)
		if i < len(c.Gaps) {
			g := c.Gaps[i]
			line("no, a gap\tslots %d to %d\t%s\t%s\t-\t-", g.FirstSlot, g.LastSlot, moment(g.After), moment(g.Before))
		}
	}
	switch v := c.Verified; {
	case v == nil:
		line("verified: never")
	default:
		line("verified: the full copy of revision %d and what follows it through slot %d, at %s", v.Revision, v.Through,
			moment(v.When))
	}
	for _, n := range c.Notes {
		line("note: %s", n)
	}
	return t.Flush()
}

// moment returns a time as --at takes it.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
