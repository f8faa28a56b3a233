package cluster

import (
	"io"
	"os"
	"strings"
)

// maxLogBytes bounds what LogFrom returns.
const maxLogBytes = 64 << 20

// LogSize returns the size of the node's log, 0 if it has none yet.
func (n *Node) LogSize() int64 {
	info, err := os.Stat(n.Log)
	if err != nil {
		return 0
	}
	return info.Size()
}

// LogFrom returns what the node has logged since its log had that size, up to 64 MiB of it; "" if it cannot be read.
func (n *Node) LogFrom(size int64) string {
	f, err := os.Open(n.Log)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, size, maxLogBytes))
	if err != nil {
		return ""
	}
	return string(b)
}

// LastWords returns why a process of kvnode ended, on one line: its output from the last line on that begins with its
// name. It is "" if there is no such line.
func LastWords(output string) string {
	i := strings.LastIndex("\n"+output, "\nkvnode: ")
	if i < 0 {
		return ""
	}
	var words []string
	for line := range strings.Lines(output[i:]) {
		words = append(words, strings.TrimSpace(line))
	}
	return strings.Join(words, " ")
}
