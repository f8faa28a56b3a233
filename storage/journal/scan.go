package journal

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Errors that those of Open wrap. Any other error is one of reading or writing.
var (
	// ErrDamaged: the file does not hold what was written into it.
	ErrDamaged = errors.New("damaged journal")
	// ErrHomeOlder: the home has made fewer commits than a record in the file knows of.
	ErrHomeOlder = errors.New("older than its journal")
)

// Home is what the home of the records, log.db, reports of them.
type Home struct {
	Journaled  uint64 // records up to this number are in it, or were never complete
	Generation uint64 // its commits so far
	Seen       uint64 // records up to this number were durable once
}

// run is a record with at least one of its sectors.
type run struct {
	number uint64
	start  int // in sectors
	count  int
	seen   int // sectors that are there
}

func (r *run) complete() bool { return r.seen == r.count }

func (r *run) place() Place { return Place{uint32(r.start), uint32(r.count)} }

// scanBytes is read at a time.
const scanBytes = 128 * SectorBytes

// scan reads and checks every sector, and returns the records by rising number.
func (g *Ring) scan(home Home) ([]run, error) {
	var runs []run
	buf := make([]byte, min(scanBytes, g.sectors*SectorBytes))
	for at := 0; at < g.sectors; {
		chunk := buf[:min(len(buf), (g.sectors-at)*SectorBytes)]
		if _, err := g.file.ReadAt(chunk, int64(at)*SectorBytes); err != nil {
			return nil, fmt.Errorf("read sector %d: %w", at, err)
		}
		for ; len(chunk) > 0; chunk = chunk[SectorBytes:] {
			sector := chunk[:SectorBytes]
			h, err := g.seed.open(at, g.sectors, sector)
			if err != nil {
				return nil, fmt.Errorf("%w: sector %d %w", ErrDamaged, at, err)
			}
			if seen := order.Uint64(sector[headBytes+4:]); h.number > 0 && h.index == 0 && seen > home.Generation {
				return nil, fmt.Errorf("%w: record %d was written after its commit %d, and it has made %d",
					ErrHomeOlder, h.number, seen, home.Generation)
			}
			if h.number > 0 {
				runs = note(runs, run{number: h.number, start: at - h.index, count: h.count, seen: 1})
			}
			at++
		}
	}
	slices.SortStableFunc(runs, func(a, b run) int { return cmp.Compare(a.number, b.number) })
	return join(runs)
}

// note adds a sector to the run before it if they are of one record.
func note(runs []run, r run) []run {
	if n := len(runs); n > 0 && runs[n-1].number == r.number && runs[n-1].start == r.start &&
		runs[n-1].count == r.count {
		runs[n-1].seen++
		return runs
	}
	return append(runs, r)
}

// join joins the runs of each record: older sectors may lie between them.
func join(runs []run) ([]run, error) {
	out := runs[:0]
	for _, r := range runs {
		n := len(out)
		if n == 0 || out[n-1].number != r.number {
			out = append(out, r)
			continue
		}
		if out[n-1].start != r.start || out[n-1].count != r.count {
			return nil, fmt.Errorf("%w: record %d lies in two places", ErrDamaged, r.number)
		}
		out[n-1].seen += r.seen
	}
	return out, nil
}

// unmoved returns those of runs that are not in the home yet. The one with the highest number may be incomplete, and is
// left out then; see the package comment.
func unmoved(runs []run, home Home) ([]run, error) {
	highest := uint64(0)
	if n := len(runs); n > 0 {
		highest = runs[n-1].number
	}
	if was := max(home.Journaled, home.Seen); highest < was {
		return nil, fmt.Errorf("%w: its last record is number %d and records through number %d were in it: "+
			"it is an older copy, or synced writes were lost",
			ErrDamaged, highest, was)
	}
	first, _ := slices.BinarySearchFunc(runs, home.Journaled+1,
		func(r run, n uint64) int { return cmp.Compare(r.number, n) })
	pending := runs[first:]
	for i := range pending {
		if want := home.Journaled + 1 + uint64(i); pending[i].number != want {
			return nil, fmt.Errorf("%w: record %d is missing below record %d: synced writes were lost",
				ErrDamaged, want, pending[i].number)
		}
		if r := &pending[i]; !r.complete() {
			if r.number < highest || r.number <= home.Seen {
				return nil, fmt.Errorf("%w: record %d has %d of %d sectors: synced writes were lost",
					ErrDamaged, r.number, r.seen, r.count)
			}
			return pending[:i], nil // its commit was never acknowledged
		}
	}
	return pending, nil
}

// Load reads the record of that number, which lies at a place. It is safe for concurrent use, with Append too: if
// another record takes the place meanwhile, the error wraps ErrDamaged. The record is new memory.
func (g *Ring) Load(number uint64, at Place) (Record, error) {
	raw := make([]byte, at.Bytes())
	if _, err := g.file.ReadAt(raw, int64(at.Start)*SectorBytes); err != nil {
		return Record{}, fmt.Errorf("read record %d: %w", number, err)
	}
	body := raw[:0] // each part moves to the front
	for i := range int(at.Count) {
		place := int(at.Start) + i
		sector := raw[i*SectorBytes : (i+1)*SectorBytes]
		h, err := g.seed.open(place, g.sectors, sector)
		switch {
		case err != nil:
			return Record{}, fmt.Errorf("%w: sector %d %w", ErrDamaged, place, err)
		case h != (head{number, i, int(at.Count)}):
			return Record{}, fmt.Errorf("%w: sector %d is not of record %d any more", ErrDamaged, place, number)
		}
		body = append(body, sector[headBytes:]...)
	}
	r, err := decode(body)
	if err != nil {
		return Record{}, fmt.Errorf("%w: record %d: %w", ErrDamaged, number, err)
	}
	r.Number = number
	return r, nil
}
