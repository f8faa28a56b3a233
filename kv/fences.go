package kv

import (
	"strings"

	"github.com/tidwall/btree"
)

// fences is the largest token of each fence, and the eras of named leases, which are the upper halves of tokens.
type fences struct {
	largest *btree.Map[string, uint64] // by name
	floors  [2]uint64                  // of lease and kv fences that are not in the table
	eras    uint64                     // allotted so far: the newest era (N3)
}

// maxEra: eras are the upper halves of 64-bit tokens.
const maxEra = 1<<32 - 1

func newFences() fences { return fences{largest: btree.NewMap[string, uint64](0)} }

func (f *fences) copy() fences {
	return fences{largest: f.largest.Copy(), floors: f.floors, eras: f.eras}
}

// kind returns the place of a fence's kind in floors.
func (*fences) kind(name string) int {
	if strings.HasPrefix(name, leaseFence) {
		return 0
	}
	return 1
}

// get returns the largest token of the fence of that name; known is false if none of its own is kept: then it is the
// floor of its kind.
func (f *fences) get(name string) (token uint64, known bool) {
	if token, known = f.largest.Get(name); known {
		return token, true
	}
	return f.floors[f.kind(name)], false
}

// pass returns CodeDone if a command under token may run, and then makes token the largest of its name. limit is how
// many names may be kept.
func (f *fences) pass(name string, token uint64, limit int, c *changes) Code {
	largest, known := f.get(name)
	switch {
	case token < largest:
		return CodeFenced
	case known && token == largest:
		return CodeDone
	case !known && f.largest.Len() >= limit:
		return CodeFull
	}
	f.largest.Set(name, token)
	c.set(KindFence, name, appendFence(nil, token))
	return CodeDone
}

// drop carries out OpDropFence. The floor of the fence's kind keeps tokens from falling. The price: names of the kind
// that are not in the table start there. An operator may set the floor lower, after a fence with an absurd token was
// dropped.
func (f *fences) drop(c *Command, ch *changes) {
	largest, known := f.largest.Delete(c.Fence)
	if known {
		ch.set(KindFence, c.Fence, nil)
	}
	floor := &f.floors[f.kind(c.Fence)]
	if c.HasIndex {
		*floor = c.Index
	} else if known {
		*floor = max(*floor, largest)
	}
}

// newEra carries out OpNewEra: it allots an era of named leases (N3). One counter, which only grows, is for all leases
// and all nodes.
func (f *fences) newEra(l *ledger) Result {
	if f.eras >= maxEra {
		return l.unchanged(CodeFull)
	}
	f.eras++
	r := l.unchanged(CodeDone)
	r.Count = f.eras
	return r
}

// Fence returns the largest token of the fence of that name: a command with a smaller one is refused. If known is
// false, the fence has no token of its own, and token is the floor of its kind. The name must be valid (ValidateFence).
func (v *Snapshot) Fence(name string) (token uint64, known bool) { return v.fences.get(name) }
