package journal

import (
	"errors"
	"fmt"

	"tenure/internal/ident"
)

// File is where a ring lies: a file of fixed size, all of it written before, so that a sync changes nothing but data.
type File interface {
	ReadAt(b []byte, off int64) (int, error)
	WriteAt(b []byte, off int64) (int, error)
	// Sync makes what was written durable before it returns.
	Sync() error
}

// ErrFull: the place that a record needs holds records that are not in their home. Nothing was written; the same
// append works once enough was released.
var ErrFull = errors.New("journal full")

const (
	// MinBytes is the least size of a file.
	MinBytes = 16 * SectorBytes
	// MaxBytes is the largest.
	MaxBytes = 1 << 30
	// A record takes at most this, and at most a quarter of the ring: larger ones go home directly.
	maxRecordBytes = 4 << 20
	limitShare     = 4
	// keptBuffer is the largest buffer that is kept between two records.
	keptBuffer = 1 << 20
)

// Place is where a record lies, in sectors.
type Place struct{ Start, Count uint32 }

// Bytes returns how much of the file the record takes.
func (p Place) Bytes() int64 { return int64(p.Count) * SectorBytes }

// Ring is a journal that is open. One goroutine at a time may use it, but for Load.
type Ring struct {
	file    File
	seed    seed
	sectors int
	next    uint64  // number of the next record
	head    int     // where it goes if that is free, in sectors
	live    []Place // of the records that must not be overwritten, by rising number
	oldest  uint64  // number of the first of them; the others follow without a gap
	body    []byte  // of the record that is written
	out     []byte
	broken  error // of an append; what is durable is not known any more
}

// Open reads all of a file of the given size. It calls each with every record that is not in the home yet, by rising
// number, each complete, and with its place; it ends with an error of each. It writes the last record anew and syncs
// it: the process before may have ended without a successful sync, and the record may then be in memory only. Behind
// these records a commit may have been cut off: Last is above the number of the last one then, and before the first
// Append the caller must bring all records, and the number Last, home. Errors wrap ErrDamaged or ErrHomeOlder, or are
// those of file and each.
func Open(
	file File, size int64, store ident.StoreID, home Home, each func(r *Record, at Place) error,
) (*Ring, error) {
	g, err := newRing(file, size, store)
	if err != nil {
		return nil, err
	}
	runs, pending, err := g.read(home, each)
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return g, nil
	}
	last := runs[len(runs)-1]
	g.next, g.oldest = last.number+1, home.Journaled+1
	for i := range runs {
		if r := &runs[i]; r.complete() {
			g.head = r.start + r.count // ends with that of the highest number
		}
	}
	for i := range pending {
		g.live = append(g.live, pending[i].place())
	}
	if last.number == home.Journaled {
		return g, nil
	}
	if err := g.settle(last); err != nil {
		return nil, err
	}
	return g, nil
}

// Read calls each as Open would, and reports whether a commit behind these records was cut off. It changes nothing.
func Read(
	file File, size int64, store ident.StoreID, home Home, each func(r *Record, at Place) error,
) (cutOff bool, err error) {
	g, err := newRing(file, size, store)
	if err != nil {
		return false, err
	}
	runs, pending, err := g.read(home, each)
	if err != nil || len(runs) == 0 {
		return false, err
	}
	return runs[len(runs)-1].number > home.Journaled+uint64(len(pending)), nil
}

// newRing returns the ring in a file of that size. It reads nothing.
func newRing(file File, size int64, store ident.StoreID) (*Ring, error) {
	if size < MinBytes || size > MaxBytes || size%SectorBytes != 0 {
		return nil, fmt.Errorf("%w: no journal has %d bytes", ErrDamaged, size)
	}
	return &Ring{file: file, seed: seedOf(store), sectors: int(size / SectorBytes), next: 1}, nil
}

// read reads and checks the whole file: all records in it, and the content of those that are not in the home, which are
// pending.
func (g *Ring) read(home Home, each func(r *Record, at Place) error) (runs, pending []run, err error) {
	runs, err = g.scan(home)
	if err != nil {
		return nil, nil, err
	}
	pending, err = unmoved(runs, home)
	if err != nil {
		return nil, nil, err
	}
	for i := range pending {
		r, err := g.Load(pending[i].number, pending[i].place())
		if err != nil {
			return nil, nil, err
		}
		if err := each(&r, pending[i].place()); err != nil {
			return nil, nil, err
		}
	}
	return runs, pending, nil
}

// settle writes the sectors of r that are there once more, as they are.
func (g *Ring) settle(r run) error {
	sector := make([]byte, SectorBytes)
	for at := r.start; at < r.start+r.count; at++ {
		off := int64(at) * SectorBytes
		if _, err := g.file.ReadAt(sector, off); err != nil {
			return fmt.Errorf("read sector %d: %w", at, err)
		}
		if h, err := g.seed.open(at, g.sectors, sector); err != nil || h.number != r.number {
			continue // of an older record
		}
		if _, err := g.file.WriteAt(sector, off); err != nil {
			return fmt.Errorf("write sector %d again: %w", at, err)
		}
	}
	return g.file.Sync()
}

// Last returns the highest number that a record in the file has, complete or not.
func (g *Ring) Last() uint64 { return g.next - 1 }

// Bytes returns the size of the file.
func (g *Ring) Bytes() int64 { return int64(g.sectors) * SectorBytes }

// Limit returns the largest Size of a record that Append takes.
func (g *Ring) Limit() int { return min(maxRecordBytes, g.sectors/limitShare*SectorBytes) }

// Append gives r its number and makes it durable: one write, one sync. It returns where r lies, and keeps no part of
// it. ErrFull changes nothing; after any other error it is not known whether r is durable, and every later call returns
// the same error. It panics if r is larger than Limit.
func (g *Ring) Append(r *Record) (Place, error) {
	if g.broken != nil {
		return Place{}, g.broken
	}
	g.body = appendBody(g.body[:0], r)
	count := sectorsOf(len(g.body))
	if count*SectorBytes > g.Limit() {
		panic(fmt.Sprintf("journal: a record of %d bytes in a ring of %d", len(g.body), g.Bytes()))
	}
	start, ok := g.place(count)
	if !ok {
		return Place{}, ErrFull
	}
	r.Number = g.next
	g.fill(r.Number, start, count)
	if _, err := g.file.WriteAt(g.out, int64(start)*SectorBytes); err != nil {
		g.broken = fmt.Errorf("write record %d: %w", r.Number, err)
		return Place{}, g.broken
	}
	if err := g.file.Sync(); err != nil {
		g.broken = fmt.Errorf("sync record %d: %w", r.Number, err)
		return Place{}, g.broken
	}
	if len(g.out) > keptBuffer {
		g.body, g.out = nil, nil
	}
	at := Place{uint32(start), uint32(count)}
	if len(g.live) == 0 {
		g.oldest = r.Number
	}
	g.live = append(g.live, at)
	g.next, g.head = r.Number+1, start+count
	return at, nil
}

// place finds count sectors in a row behind the last record, or else at the start, that hold no live record.
func (g *Ring) place(count int) (start int, ok bool) {
	fits := g.head+count <= g.sectors
	if len(g.live) == 0 {
		if fits {
			return g.head, true
		}
		return 0, true
	}
	switch oldest := int(g.live[0].Start); {
	case g.head <= oldest: // the live ones go round the end; equal: they fill the ring
		return g.head, g.head+count <= oldest
	case fits:
		return g.head, true
	default:
		return 0, count <= oldest
	}
}

// fill cuts the body into sectors.
func (g *Ring) fill(number uint64, start, count int) {
	if n := count * SectorBytes; cap(g.out) < n {
		g.out = make([]byte, n)
	} else {
		g.out = g.out[:n]
	}
	body := g.body
	for i := range count {
		sector := g.out[i*SectorBytes : (i+1)*SectorBytes]
		n := copy(sector[headBytes:], body)
		clear(sector[headBytes+n:])
		body = body[n:]
		g.seed.seal(start+i, sector, head{number, i, count})
	}
}

// Release lets the place of the records up to number be used again, since their home has them.
func (g *Ring) Release(number uint64) {
	if len(g.live) == 0 || number < g.oldest {
		return
	}
	n := min(number-g.oldest+1, uint64(len(g.live)))
	g.live, g.oldest = g.live[n:], g.oldest+n
}
