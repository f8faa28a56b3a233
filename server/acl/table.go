package acl

import (
	"slices"
	"strings"
)

// table holds the rules of one kind.
type table struct {
	exact  []entry // by name, each name once
	prefix []entry // likewise
}

// entry is the combined rule of all policies for one name or prefix.
type entry struct {
	name   string
	access Access
	parent int // among prefixes, the index of the longest other one that name begins with; -1: none
	// weaker counts, by an access, the entries before this one that do not allow it.
	weaker [Write + 1]int
}

// build sorts the entries, merges those of the same name, and completes them.
func build(in []entry) []entry {
	slices.SortFunc(in, func(a, b entry) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return int(b.access) - int(a.access) // the strongest first, which stays
	})
	out := slices.CompactFunc(in, func(a, b entry) bool { return a.name == b.name })
	for i := range out {
		e := &out[i]
		e.parent = -1
		if i == 0 {
			continue
		}
		e.parent = longest(out, i-1, e.name)
		e.weaker = out[i-1].weaker
		out[i-1].count(&e.weaker)
	}
	return out
}

// count adds 1 for each access that e does not allow.
func (e *entry) count(weaker *[Write + 1]int) {
	for want := Read; want <= Write; want++ {
		if !e.access.allows(want) {
			weaker[want]++
		}
	}
}

// longest returns the index of the longest entry that is a prefix of name, -1 if there is none. at is the index of the
// greatest entry not above name. Every entry that sorts between a prefix of name and name begins with that prefix too,
// so the result is entry at or one of its ancestors.
func longest(entries []entry, at int, name string) int {
	for at >= 0 && !strings.HasPrefix(name, entries[at].name) {
		at = entries[at].parent
	}
	return at
}

// find returns where name is or would be.
func find(entries []entry, name string) (int, bool) {
	return slices.BinarySearchFunc(entries, name, func(e entry, name string) int {
		return strings.Compare(e.name,
			name)
	})
}

// governs returns the access that the rule for name grants, and false if no rule governs name.
func (t *table) governs(name string) (Access, bool) {
	if i, ok := find(t.exact, name); ok {
		return t.exact[i].access, true
	}
	return t.governsPrefix(name)
}

// governsPrefix returns the access that the longest prefix of name grants.
func (t *table) governsPrefix(name string) (Access, bool) {
	at, ok := find(t.prefix, name)
	if !ok {
		at--
	}
	if at = longest(t.prefix, at, name); at < 0 {
		return 0, false
	}
	return t.prefix[at].access, true
}

// allow reports whether each rule for a name or prefix that begins with prefix allows want.
func allow(entries []entry, prefix string, want Access) bool {
	_, weaker := below(entries, prefix, want)
	return weaker == 0
}

// some reports whether any rule for a name or prefix that begins with prefix allows want.
func some(entries []entry, prefix string, want Access) bool {
	n, weaker := below(entries, prefix, want)
	return weaker < n
}

// below returns how many rules are for a name or prefix that begins with prefix, and how many of them do not allow want.
func below(entries []entry, prefix string, want Access) (n, weaker int) {
	first, _ := find(entries, prefix)
	last := first
	if prefix == "" {
		last = len(entries)
	} else {
		// Those that begin with prefix stand together, from first on.
		end, _ := slices.BinarySearchFunc(entries[first:], prefix, func(e entry, prefix string) int {
			if strings.HasPrefix(e.name, prefix) {
				return -1
			}
			return 1
		})
		last += end
	}
	if first == last {
		return 0, 0
	}
	before, through := entries[first].weaker, entries[last-1].weaker
	entries[last-1].count(&through)
	return last - first, through[want] - before[want]
}
