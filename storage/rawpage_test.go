package storage

import (
	"bytes"
	"encoding/binary"
	"testing"

	"tenure/kv"
	"tenure/storage/pages"
)

// The tests find and spoil pages of a bbolt file by its format; see package pages.
const (
	rawBranch       = 0x01 // the flags of a page
	rawLeaf         = 0x02
	rawFreelist     = 0x10
	rawHeadBytes    = 16
	rawElementBytes = 16
	rawMetaBytes    = 64
)

// rawPage is a page of 4 KiB.
type rawPage struct {
	id   uint64
	data []byte
}

func (p rawPage) count() int      { return int(binary.NativeEndian.Uint16(p.data[10:])) }
func (p rawPage) setCount(n int)  { binary.NativeEndian.PutUint16(p.data[10:], uint16(n)) }
func (p rawPage) setID(id uint64) { binary.NativeEndian.PutUint64(p.data, id) }

// has reports whether p has its own number and those flags.
func (p rawPage) has(flags uint16) bool {
	return binary.NativeEndian.Uint64(p.data) == p.id && binary.NativeEndian.Uint16(p.data[8:]) == flags
}

// overflows reports whether p goes on in the next page.
func (p rawPage) overflows() bool { return binary.NativeEndian.Uint32(p.data[12:]) != 0 }

// key returns the key of element i, in the page.
func (p rawPage) key(i int) []byte {
	e := p.data[rawHeadBytes+rawElementBytes*i:]
	at := e
	if p.has(rawLeaf) {
		at = e[4:] // behind the flags
	}
	from := binary.NativeEndian.Uint32(at)
	return e[from : from+binary.NativeEndian.Uint32(at[4:])]
}

// rawPageOf returns page id of text.
func rawPageOf(text []byte, id int) rawPage {
	return rawPage{id: uint64(id), data: text[id*4096 : (id+1)*4096]}
}

// pagesOf returns the pages of a kind in text that have more than three elements and no overflow, in order.
func pagesOf(t *testing.T, text []byte, flags uint16) (found []rawPage) {
	t.Helper()
	for id := 2; (id+1)*4096 <= used(t, text); id++ {
		if p := rawPageOf(text, id); p.has(flags) && p.count() > 3 && !p.overflows() {
			found = append(found, p)
		}
	}
	return found
}

// metaAt returns where the newest meta page of text starts, and where the other one does.
func metaAt(t *testing.T, text []byte) (newest, older int) {
	t.Helper()
	m, err := pages.NewestMeta(bytes.NewReader(text), int64(len(text)))
	must(t, err)
	newest = int(m.TxID&1) * m.PageBytes
	return newest, m.PageBytes - newest
}

// leafOf returns the leaf of the newest checkpoint in which key lies.
func leafOf(t *testing.T, s *Store, key string) pages.Leaf {
	t.Helper()
	var c pages.Cursor
	c.Reset(s.state.checked, s.state.checked.Newest())
	root, err := c.FindBucket(spaceNames[kv.SpaceData])
	must(t, err)
	must(t, c.Seek(&root, []byte(key)))
	return c.Leaf()
}
