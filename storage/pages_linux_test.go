package storage

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
)

// residentKB is how much of its maps of the file at path this process has in its page table.
func residentKB(t *testing.T, path string) (kb int) {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	must(t, err)
	defer f.Close()
	mine := false
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		var n int
		switch {
		case strings.Contains(line, "/"):
			mine = strings.HasSuffix(line, path)
		case mine && strings.HasPrefix(line, "Rss:"):
			_, err := fmt.Sscanf(line, "Rss: %d kB", &n)
			must(t, err)
			kb += n
		}
	}
	return kb
}

// What bbolt reads of its files while it writes them does not stay this process's memory. What runs in the background, and
// looks at the files, may map some of them just before they are looked at here; so that is done again if need be.
func TestWritingKeepsNoPagesOfTheFiles(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, calm)
	fill(t, s, 2000, 4096)
	foldKeys(t, s, 0, 1000, strings.Repeat("v", 4096))
	foldKeys(t, s, 0, 1000, strings.Repeat("w", 4096)) // which reads what the first one wrote
	log, state := paths(dir)
	for _, path := range []string{log, state} {
		info, err := os.Stat(path)
		must(t, err)
		if info.Size() < 4<<20 {
			t.Fatalf("%s has %d bytes only", path, info.Size())
		}
		least := 1 << 30
		for tries := 0; tries < 50 && least > int(info.Size())>>10/8; tries++ {
			fill(t, s, 1, 4096)
			must(t, s.flush())
			foldKeys(t, s, 0, 1, "x")
			least = min(least, residentKB(t, path))
		}
		if least > int(info.Size())>>10/8 {
			t.Errorf("%d KiB of %s are resident, it has %d", least, path, info.Size()>>10)
		}
	}
}
