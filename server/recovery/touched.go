package recovery

import (
	"cmp"
	"fmt"
	"slices"

	"tenure/kv"
	"tenure/server/recovery/merge"
	"tenure/server/replica"
)

// maxTouched bounds the keys that a plan names; more are counted.
const maxTouched = 1000

// Touched is a key, a prefix or a session that uncertain slots write.
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
	_ = kv.DecodeBatch(batch, func(b []byte) bool { // what is broken changes nothing
		if c, err := kv.DecodeCommand(b); err == nil {
			t.command(&c, s)
		}
		return true
	})
	return nil
}

func (t *touched) command(c *kv.Command, s merge.Slot) {
	switch c.Op {
	case kv.OpTransaction, kv.OpSequence:
		for i := range c.Parts {
			t.command(&c.Parts[i], s)
		}
	case kv.OpPrune:
		t.add(fmt.Sprintf("keys with prefix %q", c.Key), s)
	case kv.OpSessionCreate, kv.OpSessionDestroy, kv.OpEndSession:
		t.add("session "+c.Session.ID, s)
	case kv.OpDropFence:
		t.add("fence "+c.Fence, s)
	case kv.OpPutPolicy, kv.OpDropPolicy:
		t.add("policy "+c.ACLSubject(), s)
	case kv.OpPutToken, kv.OpDropToken, kv.OpEndToken, kv.OpBootstrap:
		t.add("token "+c.ACLSubject(), s)
	case kv.OpSet, kv.OpDelete, kv.OpAdd, kv.OpTestAndSet, kv.OpRename, kv.OpRemove, kv.OpExpire, kv.OpEndKey,
		kv.OpPut, kv.OpAppend, kv.OpIncrement, kv.OpUnlink, kv.OpRetime, kv.OpMove:
		t.add(fmt.Sprintf("key %q", c.Key), s)
		if c.NewKey != "" {
			t.add(fmt.Sprintf("key %q", c.NewKey), s)
		}
	}
}

func (t *touched) add(name string, s merge.Slot) {
	slot := uint64(s.Slot)
	x := t.names[name]
	switch {
	case x == nil && len(t.names) == maxTouched:
		t.more++
	case x == nil:
		t.names[name] = &Touched{name, slot, slot, 1}
	case x.Last != slot:
		x.Last = slot
		x.Slots++
	}
}

// list returns what was collected, in the order of the first slots.
func (t *touched) list() []Touched {
	out := make([]Touched, 0, len(t.names))
	for _, x := range t.names {
		out = append(out, *x)
	}
	slices.SortFunc(out, func(a, b Touched) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Name, b.Name))
	})
	return out
}
