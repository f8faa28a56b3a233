package kv

import (
	"slices"
	"testing"
)

func TestEveryOperationAndModeHasAName(t *testing.T) {
	seen := map[string]Op{}
	for op := range Ops() {
		if other, twice := seen[op.String()]; twice || op.String() == "" || op.String() == Op(255).String() {
			t.Errorf("operation %d is called %q, as %d", op, op, other)
		}
		seen[op.String()] = op
	}
	rows := 0
	for op, o := range catalogue {
		if (o.named != 0) != (o.name != "") {
			t.Errorf("operation %d: %+v", op, o)
		}
		if o.named != 0 {
			rows++
		}
	}
	if NewestLevel > 0 && len(seen) != rows {
		t.Errorf("%d operations, and %d rows", len(seen), rows)
	}
	all := Mode(0)
	for _, o := range catalogue {
		all |= o.modes
	}
	if got := all.String(); got != "if-absent if-present if-equal keep return whole create entry" {
		t.Errorf("%q", got)
	}
	if got := Op(200).String(); got != "operation-200" {
		t.Errorf("%q", got)
	}
}

// EachWritten names all keys that a command changes, and none that it only reads.
func TestEachWritten(t *testing.T) {
	pairs := AppendPair(AppendPair(nil, "p", []byte("1")), "q", []byte("2"))
	for _, c := range []struct {
		c    Command
		want []string
	}{
		{Command{Op: OpSet, Key: "k"}, []string{"k"}},
		{Command{Op: OpRename, Key: "k", NewKey: "l"}, []string{"k", "l"}},
		{Command{Op: OpPrune, Key: "p"}, []string{"p*"}},
		{Command{Op: OpPutAll, Value: pairs}, []string{"p", "q"}},
		{Command{Op: OpInstall}, []string{"*"}},
		{Command{Op: OpFetch, Key: "k"}, nil},
		{Command{Op: OpCheckUnchanged, Key: "k"}, nil},
		{Command{Op: OpQuota, Key: "k"}, nil},
		{Command{Op: OpEndDelay, Key: "k"}, nil},
		{Command{Op: OpDropFence, Fence: "kv/k"}, nil},
		{Command{Op: OpSequence, Parts: []Part{{Op: OpFetch, Key: "k"}, {Op: OpPutAll, Value: pairs}, {Op: OpDelete, Key: "u"}}},
			[]string{"p", "q", "u"}},
		{Command{Op: OpTransaction, Parts: []Part{{Op: OpGetTree, Key: ""}, {Op: OpDelete, Key: "d"}}}, []string{"d"}},
	} {
		if NewestLevel == 0 && c.c.Level() == 0 && known(c.c.Op).named == 0 {
			continue // of a later level
		}
		var got []string
		collect := func(key string, below bool) bool {
			if below {
				key += "*"
			}
			got = append(got, key)
			return true
		}
		if !c.c.EachWritten(collect) || !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.c.Op, got, c.want)
		}
		if n := 0; len(c.want) > 1 {
			if c.c.EachWritten(func(string, bool) bool { n++; return false }) || n != 1 {
				t.Errorf("%v goes on after the %d. key", c.c.Op, n)
			}
		}
	}
	for op := range Ops() {
		o := known(op)
		if o.space == reads && o.writes != noKey {
			t.Errorf("%v only reads, and writes keys", op)
		}
		if o.step || o.part {
			if writes := o.writes != noKey; writes == op.OnlyReads() {
				t.Errorf("%v is a part or step that neither reads only nor writes a key", op)
			}
		}
	}
}
