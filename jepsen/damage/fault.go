package damage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Kind is a kind of fault.
type Kind int

// The kinds of faults: Flip inverts one bit, Truncate shortens the file, and Page zeroes a page or swaps it with
// another one.
const (
	Flip Kind = iota
	Truncate
	Page
	kinds
)

func (k Kind) String() string {
	return [...]string{"flipped bit", "truncation", "swapped or zeroed page"}[k]
}

// pageBytes is the unit in which a disk or a file system loses or misplaces data.
const pageBytes = 4096

// Fault is one fault in a file of a node.
type Fault struct {
	Kind Kind
	File string // its name in the data directory
	What string // what was changed, and where
	// CutOff is true if the rest of the journal looks like one whose last commit was never acknowledged, so that the
	// node may drop that commit. See "What is left" in storage/DESIGN.md.
	CutOff bool

	at   []piece
	size int64 // the file's new size, for Truncate
}

// piece is the bytes that a fault writes at one offset.
type piece struct {
	off   int64
	bytes []byte
}

// draw draws a fault of a kind in a file with that content. ok is false if the drawn fault would change nothing.
func draw(r *rand.Rand, kind Kind, file string, content []byte) (f Fault, ok bool) {
	f = Fault{Kind: kind, File: file}
	size := int64(len(content))
	if size == 0 {
		return f, false
	}
	used := usedPages(content)
	if len(used) == 0 || r.IntN(4) == 0 { // anywhere
		used = make([]int64, (size+pageBytes-1)/pageBytes)
		for i := range used {
			used[i] = int64(i)
		}
	}
	page := used[r.IntN(len(used))] * pageBytes
	end := min(page+pageBytes, size)
	switch kind {
	case Flip:
		off, bit := page+r.Int64N(end-page), r.IntN(8)
		f.What = fmt.Sprintf("bit %d of byte %d", bit, off)
		f.at = []piece{{off, []byte{content[off] ^ 1<<bit}}}
	case Truncate:
		f.size = page + r.Int64N(end-page)
		f.What = fmt.Sprintf("cut off at byte %d of %d", f.size, size)
	case Page:
		other := used[r.IntN(len(used))] * pageBytes
		if r.IntN(2) == 0 || other == page || other+pageBytes > size || page+pageBytes > size ||
			bytes.Equal(content[page:page+pageBytes], content[other:other+pageBytes]) {
			f.What = fmt.Sprintf("page %d zeroed", page/pageBytes)
			f.at = []piece{{page, make([]byte, end-page)}}
			break
		}
		f.What = fmt.Sprintf("pages %d and %d swapped", page/pageBytes, other/pageBytes)
		f.at = []piece{{page, bytes.Clone(content[other : other+pageBytes])},
			{other, bytes.Clone(content[page : page+pageBytes])}}
	}
	f.CutOff = file == journalName && kind == Page && len(f.at) == 1 && holdsLast(content, page, end)
	return f, kind == Truncate || !f.planted(content)
}

// drawSome draws until a fault changes something. If none does, as in a file of zeros, it overwrites a page with other
// bytes.
func drawSome(r *rand.Rand, kind Kind, file string, content []byte) Fault {
	for range 100 {
		if f, ok := draw(r, kind, file, content); ok {
			return f
		}
	}
	page := r.Int64N((int64(len(content))+pageBytes-1)/pageBytes) * pageBytes
	return Fault{Kind: kind, File: file, What: fmt.Sprintf("page %d, of zeros, is another one", page/pageBytes),
		at: []piece{{page, bytes.Repeat([]byte{0x5a}, int(min(pageBytes, int64(len(content))-page)))}}}
}

// usedPages returns the numbers of the pages that are not zeros.
func usedPages(content []byte) (used []int64) {
	zeros := make([]byte, pageBytes)
	for off := 0; off < len(content); off += pageBytes {
		page := content[off:min(off+pageBytes, len(content))]
		if !bytes.Equal(page, zeros[:len(page)]) {
			used = append(used, int64(off/pageBytes))
		}
	}
	return used
}

// holdsLast reports whether the bytes [from, to) of a journal include a sector of its last record. Bytes 4 to 11 of
// each sector of 512 bytes are the number of its record.
func holdsLast(journal []byte, from, to int64) bool {
	highest := func(b []byte) (n uint64) {
		for ; len(b) >= 512; b = b[512:] {
			n = max(n, binary.BigEndian.Uint64(b[4:]))
		}
		return n
	}
	last := highest(journal)
	return last > 0 && highest(journal[from:to]) == last
}

// planted reports whether content already has the bytes or the length that the fault leaves.
func (f *Fault) planted(content []byte) bool {
	if f.Kind == Truncate {
		return int64(len(content)) == f.size
	}
	for _, p := range f.at {
		end := p.off + int64(len(p.bytes))
		if end > int64(len(content)) || !bytes.Equal(content[p.off:end], p.bytes) {
			return false
		}
	}
	return true
}

// plant applies the fault to the file in a data directory, whether or not a node runs on it.
func (f *Fault) plant(dir string) error {
	file, err := os.OpenFile(filepath.Join(dir, f.File), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if f.Kind == Truncate {
		return file.Truncate(f.size)
	}
	for _, p := range f.at {
		if _, err := file.WriteAt(p.bytes, p.off); err != nil {
			return err
		}
	}
	return nil
}
