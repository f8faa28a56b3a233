package disktest

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"tenure/storage/internal/pages"
)

// Tests find and spoil pages of a bbolt file by its format; see package pages.
const (
	Branch       = 0x01 // the flags of a page
	Leaf         = 0x02
	Freelist     = 0x10
	HeadBytes    = 16
	ElementBytes = 16
	MetaBytes    = 64
)

// RawPage is a page of 4 KiB.
type RawPage struct {
	ID   uint64
	Data []byte
}

// Count returns the number of elements.
func (p RawPage) Count() int { return int(binary.NativeEndian.Uint16(p.Data[10:])) }

// SetCount changes the number of elements.
func (p RawPage) SetCount(n int) { binary.NativeEndian.PutUint16(p.Data[10:], uint16(n)) }

// SetID changes the number of the page.
func (p RawPage) SetID(id uint64) { binary.NativeEndian.PutUint64(p.Data, id) }

// Has reports whether p has its own number and those flags.
func (p RawPage) Has(flags uint16) bool {
	return binary.NativeEndian.Uint64(p.Data) == p.ID && binary.NativeEndian.Uint16(p.Data[8:]) == flags
}

// Overflows reports whether p goes on in the next page.
func (p RawPage) Overflows() bool { return binary.NativeEndian.Uint32(p.Data[12:]) != 0 }

// Key returns the key of element i, in the page.
func (p RawPage) Key(i int) []byte {
	e := p.Data[HeadBytes+ElementBytes*i:]
	at := e
	if p.Has(Leaf) {
		at = e[4:] // behind the flags
	}
	from := binary.NativeEndian.Uint32(at)
	return e[from : from+binary.NativeEndian.Uint32(at[4:])]
}

// RawPageOf returns page id of text.
func RawPageOf(text []byte, id int) RawPage {
	return RawPage{ID: uint64(id), Data: text[id*4096 : (id+1)*4096]}
}

// PagesOf returns the pages of a kind in text that have more than three elements and no overflow, in order.
func PagesOf(t testing.TB, text []byte, flags uint16) (found []RawPage) {
	t.Helper()
	for id := 2; (id+1)*4096 <= Used(t, text); id++ {
		if p := RawPageOf(text, id); p.Has(flags) && p.Count() > 3 && !p.Overflows() {
			found = append(found, p)
		}
	}
	return found
}

// MetaAt returns where the newest meta page of text starts, and where the other one does.
func MetaAt(t testing.TB, text []byte) (newest, older int) {
	t.Helper()
	m, err := pages.NewestMeta(bytes.NewReader(text), int64(len(text)))
	Must(t, err)
	newest = int(m.TxID&1) * m.PageBytes
	return newest, m.PageBytes - newest
}

// Used is the part of a bbolt file that has been written.
func Used(t testing.TB, b []byte) int {
	t.Helper()
	m, err := pages.NewestMeta(strings.NewReader(string(b)), int64(len(b)))
	Must(t, err)
	return int(m.HighWater) * m.PageBytes
}
