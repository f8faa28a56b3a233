package guardian

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// shed gives back the pages of the program that its start has touched. Most of them belong to the server's code: they
// stay in the page cache, and are mapped again when used. shed gives back only unwritten mappings of files. It only
// saves memory, so it skips any line that it does not understand.
func shed() {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer f.Close()
	var from, to uintptr // of the mapping whose lines come, 0 if it is to stay
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) >= 5 && strings.Contains(words[0], "-"):
			from, to = 0, 0
			if len(words) == 6 && words[1][1] == '-' && words[1][3] == 'p' && strings.HasPrefix(words[5], "/") {
				from, to = bounds(words[0])
			}
		case len(words) == 3 && words[0] == "Anonymous:" && words[1] == "0" && to > from:
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED) // if it cannot be, it stays
		}
	}
}

// bounds are the addresses in "from-to".
func bounds(s string) (from, to uintptr) {
	a, b, _ := strings.Cut(s, "-")
	x, errX := strconv.ParseUint(a, 16, 64)
	y, errY := strconv.ParseUint(b, 16, 64)
	if errX != nil || errY != nil {
		return 0, 0
	}
	return uintptr(x), uintptr(y)
}
