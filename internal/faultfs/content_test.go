//go:build linux

package faultfs

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

func emptyContent(t *testing.T) *content {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	c, err := newContent(f)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *content) all(t interface{ Fatal(...any) }) []byte {
	b := make([]byte, c.length()+100)
	n, err := c.readAt(b, 0)
	if err != nil {
		t.Fatal(err)
	}
	return b[:n]
}

// What the program sees is a plain file's content; what a crash leaves is the content at the last sync.
func TestContentIsAFileAndACrashRestoresTheLastSync(t *testing.T) {
	c := emptyContent(t)
	rapid.Check(t, func(t *rapid.T) {
		if err := c.truncate(0); err != nil {
			t.Fatal(err)
		}
		if err := c.sync(); err != nil {
			t.Fatal(err)
		}
		var seen, synced []byte
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1:
				off := rapid.IntRange(0, 3*pageBytes).Draw(t, "off")
				b := bytes.Repeat([]byte{byte(rapid.IntRange(1, 255).Draw(t, "byte"))},
					rapid.IntRange(1, 2*pageBytes).Draw(t, "n"))
				if err := c.writeAt(b, int64(off)); err != nil {
					t.Fatal(err)
				}
				if grow := off + len(b) - len(seen); grow > 0 {
					seen = append(seen, make([]byte, grow)...)
				}
				copy(seen[off:], b)
			case 2:
				size := rapid.IntRange(0, 4*pageBytes).Draw(t, "size")
				if err := c.truncate(int64(size)); err != nil {
					t.Fatal(err)
				}
				if size <= len(seen) {
					seen = bytes.Clone(seen[:size])
				} else {
					seen = append(seen, make([]byte, size-len(seen))...)
				}
			case 3:
				if err := c.sync(); err != nil {
					t.Fatal(err)
				}
				synced = bytes.Clone(seen)
			case 4:
				if _, err := c.crash(Loss{}, rand.New(rand.NewPCG(1, 0))); err != nil {
					t.Fatal(err)
				}
				seen = bytes.Clone(synced)
			}
			if got := c.all(t); !bytes.Equal(got, seen) {
				t.Fatalf("%d bytes, want %d; first difference at %d", len(got), len(seen), firstDifference(got, seen))
			}
		}
	})
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func TestCrashKeepsWholePagesOrTearsThemAtSectors(t *testing.T) {
	const pages = 64
	for _, torn := range []bool{false, true} {
		c := emptyContent(t)
		if err := c.writeAt(bytes.Repeat([]byte{1}, pages*pageBytes), 0); err != nil {
			t.Fatal(err)
		}
		if err := c.sync(); err != nil {
			t.Fatal(err)
		}
		if err := c.writeAt(bytes.Repeat([]byte{2}, pages*pageBytes), 0); err != nil {
			t.Fatal(err)
		}
		lost, err := c.crash(Loss{Keep: 0.5, Torn: torn}, rand.New(rand.NewPCG(7, 0)))
		if err != nil {
			t.Fatal(err)
		}
		whole, tornPages := 0, 0
		b := c.all(t)
		for i := range pages {
			p := b[i*pageBytes:][:pageBytes]
			fresh := bytes.Count(p, []byte{2})
			if fresh%sectorBytes != 0 || !bytes.Equal(p[:fresh], bytes.Repeat([]byte{2}, fresh)) {
				t.Fatalf("page %d has %d new bytes, not a row of whole sectors", i, fresh)
			}
			switch fresh {
			case 0:
			case pageBytes:
				whole++
			default:
				tornPages++
			}
		}
		if whole == 0 || whole+lost != pages || (tornPages > 0) != torn {
			t.Errorf("torn %v: %d pages survived, %d were torn, %d lost", torn, whole, tornPages, lost)
		}
	}
}
