package recovery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tenure/kv"
	"tenure/server/recovery/merge"
	"tenure/server/replica"
)

// maxTouched bounds the keys that a plan names; more are counted.
const maxTouched = 1000

// Touched is a key, a prefix, a session or anything else that uncertain slots write.
type Touched struct {
	Name  string `json:"name"` // `key "a"`, `keys with prefix "b/"`, "session 6d0…"
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`  // slot
	Slots uint64 `json:"slots"` // that write it, between the two
}

// touched collects what uncertain slots write.
type touched struct {
	names map[string]*Touched
	more  uint64 // writes of names beyond maxTouched
}

func newTouched() *touched { return &touched{names: map[string]*Touched{}} }

// note takes what a slot would write.
func (t *touched) note(s merge.Slot) error {
	batch, record, err := replica.Content(s.Entry)
	if err != nil {
		return err
	}
	if record != nil {
		t.add("the list of members", s)
	}
	err = kv.DecodeBatch(batch, func(b []byte) bool {
		if c, err := kv.DecodeCommand(b); err == nil {
			t.command(&c, s)
		} else {
			t.add(unreadable, s)
		}
		return true
	})
	if err != nil { // its rest changes nothing here; another release may know it
		t.add(unreadable, s)
	}
	return nil
}

const (
	unreadable = "what a command does that this release cannot read"
	// everyKey is the first that a plan names, and is named however much else there is.
	everyKey = "every key: an uploaded snapshot replaces the store"
)

// command takes what a command writes: see TestEveryOperationIsInThePlan.
func (t *touched) command(c *kv.Command, s merge.Slot) {
	if c.Fence != "" {
		t.add(fmt.Sprintf("fence %q", c.Fence), s)
	}
	c.EachWritten(func(key string, below bool) bool {
		switch {
		case c.Op == kv.OpInstall:
			t.add(everyKey, s)
		case below:
			t.add(fmt.Sprintf("keys with prefix %q", key), s)
		default:
			t.add(fmt.Sprintf("key %q", key), s)
		}
		return true
	})
	switch what, name := c.Beside(); {
	case what == "":
	case name == c.Key && name != "":
		t.add(fmt.Sprintf("%s %q", what, name), s)
	default:
		t.add(strings.TrimSuffix(what+" "+name, " "), s)
	}
}

func (t *touched) add(name string, s merge.Slot) {
	slot := uint64(s.Slot)
	x := t.names[name]
	switch {
	case x == nil && len(t.names) >= maxTouched && name != everyKey:
		t.more++
	case x == nil:
		t.names[name] = &Touched{name, slot, slot, 1}
	case x.Last != slot:
		x.Last = slot
		x.Slots++
	}
}

// list returns what was collected, in the order of the first slots, but everyKey first.
func (t *touched) list() []Touched {
	out := make([]Touched, 0, len(t.names))
	for _, x := range t.names {
		out = append(out, *x)
	}
	last := func(x *Touched) int {
		if x.Name == everyKey {
			return 0
		}
		return 1
	}
	slices.SortFunc(out, func(a, b Touched) int {
		return cmp.Or(last(&a)-last(&b), cmp.Compare(a.First, b.First), cmp.Compare(a.Name, b.Name))
	})
	return out
}
