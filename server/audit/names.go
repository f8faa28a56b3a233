package audit

import (
	"slices"
	"strings"
)

// maxNameBytes bounds the names in a line. They are noted before the decision about the act, so without the bound any
// client could fill the log with them.
const maxNameBytes = 4 << 10

// Names collects the objects of an act for its line: keys, prefixes, ids. The zero Names has none.
type Names struct {
	list  []string
	bytes int
	more  int // others, for which the line has no space
}

// Add notes objects, each once.
func (n *Names) Add(names ...string) {
	for _, name := range names {
		if len(name) > maxNameBytes { // nothing has such a name
			name = strings.ToValidUTF8(name[:maxNameBytes-len("…")], "") + "…"
		}
		switch {
		case slices.Contains(n.list, name):
		case n.bytes+len(name) > maxNameBytes || n.more > 0:
			n.more++
		default:
			n.list, n.bytes = append(n.list, name), n.bytes+len(name)
		}
	}
}

// Put gives r the objects. A denied act has one name at most: nothing was done with any of them. The Outcome of r must
// be set.
func (n *Names) Put(r *Record) {
	r.Keys, r.More = n.list, n.more
	if r.Outcome == Denied && len(r.Keys) > 1 {
		r.More += len(r.Keys) - 1
		r.Keys = r.Keys[:1]
	}
}
