package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/multipaxos"
)

var errDead = errors.New("the machine has stopped")

// memFile is a file that loses any of its unsynced sectors in a crash.
type memFile struct {
	disk   []byte       // what is durable
	seen   []byte       // what a reader sees
	dirty  map[int]bool // sectors that differ, or may
	writes int          // since the beginning
	syncs  int          // likewise
	dieAt  int          // this change fails and all after it, if above 0
}

func newMemFile(sectors int) *memFile {
	return &memFile{disk: make([]byte, sectors*SectorBytes), seen: make([]byte, sectors*SectorBytes),
		dirty: map[int]bool{}}
}

func (f *memFile) ReadAt(b []byte, off int64) (int, error) {
	n := copy(b, f.seen[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) dead() bool { return f.dieAt > 0 && f.writes+f.syncs >= f.dieAt }

func (f *memFile) WriteAt(b []byte, off int64) (int, error) {
	f.writes++
	if off%SectorBytes != 0 || len(b)%SectorBytes != 0 || int(off)+len(b) > len(f.seen) {
		panic(fmt.Sprintf("a write of %d bytes at %d", len(b), off))
	}
	copy(f.seen[off:], b) // a write that is cut off has reached the cache, or some of it
	for s := int(off) / SectorBytes; s < (int(off)+len(b))/SectorBytes; s++ {
		f.dirty[s] = true
	}
	if f.dead() {
		return 0, errDead
	}
	return len(b), nil
}

func (f *memFile) Sync() error {
	f.syncs++
	if f.dead() {
		return errDead
	}
	f.settle(func(int) bool { return true })
	return nil
}

// settle makes the unsynced sectors durable that survive.
func (f *memFile) settle(survives func(sector int) bool) {
	sectors := make([]int, 0, len(f.dirty))
	for s := range f.dirty {
		sectors = append(sectors, s)
	}
	slices.Sort(sectors)
	for _, s := range sectors {
		if survives(s) {
			copy(f.disk[s*SectorBytes:(s+1)*SectorBytes], f.seen[s*SectorBytes:])
		}
	}
	clear(f.dirty)
}

// crash loses power.
func (f *memFile) crash(survives func(sector int) bool) {
	f.settle(survives)
	copy(f.seen, f.disk)
	f.dieAt = 0
}

// put replaces what is on the disk.
func (f *memFile) put(disk []byte) {
	copy(f.disk, disk)
	copy(f.seen, disk)
	clear(f.dirty)
}

func (f *memFile) size() int64 { return int64(len(f.disk)) }

var store = ident.StoreID{1, 2, 3}

func bal(n uint64) ballot.Ballot { return ballot.Ballot{Counter: n, Restart: 2, Node: 3, Nonce: 4} }

// rec is a record with one entry, of so many bytes.
func rec(slot int, size int) *Record {
	e := multipaxos.Entry{Slot: multipaxos.Slot(slot), Ballot: bal(1), Value: bytes.Repeat([]byte{byte(slot)}, size)}
	return &Record{Marks: multipaxos.Durable{Promised: bal(1), Last: e.Slot}, Entries: []multipaxos.Entry{e}}
}

func mustOpen(t testing.TB, f *memFile, home Home) (*Ring, []Record) {
	t.Helper()
	g, records, err := openAll(f, store, home)
	if err != nil {
		t.Fatal(err)
	}
	return g, records
}

// openAll opens the ring in f and returns the records that are not home.
func openAll(f *memFile, store ident.StoreID, home Home) (g *Ring, records []Record, err error) {
	g, err = Open(f, f.size(), store, home, func(r *Record, _ Place) error {
		records = append(records, *r)
		return nil
	})
	return g, records, err
}

func mustAppend(t testing.TB, g *Ring, r *Record) {
	t.Helper()
	if _, err := g.Append(r); err != nil {
		t.Fatal(err)
	}
}

func numbers(records []Record) (out []uint64) {
	for i := range records {
		out = append(out, records[i].Number)
	}
	return out
}
