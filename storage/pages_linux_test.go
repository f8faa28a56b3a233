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

// What bbolt has read of its files does not stay this process's memory once it has written them. The kernel may map up to
// 2 MiB at a touch, and what runs in the background touches some; hence half.
func TestWritingKeepsNoPagesOfTheFiles(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, calm)
	fill(t, s, 3000, 4096)
	foldKeys(t, s, 0, 3000, strings.Repeat("v", 4096))
	must(t, s.flush())
	mustContent(t, s) // reads both files through their maps
	log, state := paths(dir)
	before := map[string]int{log: residentKB(t, log), state: residentKB(t, state)}
	fill(t, s, 1, 1)
	must(t, s.flush())
	foldKeys(t, s, 0, 1, "x")
	for path, was := range before {
		if is := residentKB(t, path); was < 10<<10 || is > was/2 {
			t.Errorf("%s: %d KiB were resident, %d are after a write", path, was, is)
		}
	}
}
