package access

import (
	"errors"
	"slices"
	"testing"

	"tenure/kv"
	"tenure/server/acl"
)

// needed returns what a command needs, in words, and whether nobody knows.
func needed(c kv.Command) (list []string, panicked bool) {
	defer func() { panicked = recover() != nil }()
	_ = EachNeed(&c, func(p acl.Permission, some bool) error {
		text := p.String()
		if some {
			text = "some " + text
		}
		list = append(list, text)
		return nil
	})
	return list, false
}

// Every operation that a request can be is known to need something.
func TestEveryOperationNeedsSomething(t *testing.T) {
	known := slices.Collect(kv.Ops())
	for op := range kv.Op(255) {
		c := kv.Command{Op: op, Fence: "kv/f", Key: "k", NewKey: "l"}
		if op == kv.OpPutAll {
			c.Value = kv.AppendPair(nil, "k", nil)
		}
		list, panicked := needed(c)
		switch n := len(list); op {
		case kv.OpEndSession, kv.OpEndKey, kv.OpEndDelay, kv.OpNewEra, kv.OpLevel, kv.OpStage, kv.OpDropStaged, kv.OpEndToken:
			if !panicked {
				t.Errorf("%v is the cluster's own, and was decided about", op)
			}
		case kv.OpTransaction, kv.OpSequence, kv.OpSessionDestroy, kv.OpSessionRenew, kv.OpBootstrap:
			if n != 1 || panicked { // of the fence
				t.Errorf("%v needs %d", op, n)
			}
		default:
			is := slices.Contains(known, op)
			if is && (n < 2 || panicked) {
				t.Errorf("%v needs %d, %v", op, n, panicked)
			}
			if !is && !panicked {
				t.Errorf("%v, which there is not, needs %v", op, list)
			}
		}
	}
}

func TestWhatCommandsNeed(t *testing.T) {
	const read, write = `'key:read' on "k"`, `'key:write' on "k"`
	for _, c := range []struct {
		command kv.Command
		want    []string
	}{
		{kv.Command{Op: kv.OpFetch}, []string{read}},
		{kv.Command{Op: kv.OpMeasure}, []string{read}},
		{kv.Command{Op: kv.OpSet}, []string{write}},
		{kv.Command{Op: kv.OpSet, Mode: kv.ModeAbsent}, []string{write}},
		{kv.Command{Op: kv.OpSet, Mode: kv.ModeReturn}, []string{read, write}},
		{kv.Command{Op: kv.OpSet, Mode: kv.ModeEqual}, []string{read, write}},
		{kv.Command{Op: kv.OpDelete}, []string{write}},
		{kv.Command{Op: kv.OpDelete, Mode: kv.ModeReturn}, []string{read, write}},
		{kv.Command{Op: kv.OpDelete, Mode: kv.ModeEqual}, []string{read, write}},
		{kv.Command{Op: kv.OpSetTTL}, []string{write}},
		{kv.Command{Op: kv.OpSetTTL, Mode: kv.ModeReturn | kv.ModePresent}, []string{read, write}},
		{kv.Command{Op: kv.OpAppend}, []string{read, write}},
		{kv.Command{Op: kv.OpAdd}, []string{read, write}},
		{kv.Command{Op: kv.OpRename, NewKey: "new"}, []string{read, write, `'key:write' on "new"`}},
		{kv.Command{Op: kv.OpSet}, []string{write}},
		{kv.Command{Op: kv.OpDelete, Mode: kv.ModeEntry}, []string{read, write}},
		{kv.Command{Op: kv.OpRename, NewKey: "new"}, []string{read, write, `'key:write' on "new"`}},
		{kv.Command{Op: kv.OpGetTree}, []string{`'key:read' on everything that begins with "k"`}},
		{kv.Command{Op: kv.OpPutAll, Value: kv.AppendPair(kv.AppendPair(nil, "k", nil), "l", nil)},
			[]string{write, `'key:write' on "l"`}},
		{kv.Command{Op: kv.OpPutAll, Mode: kv.ModeEqual, Value: kv.AppendPair(nil, "k", nil)}, []string{read, write}},
		{kv.Command{Op: kv.OpSequence, Fence: "lease/l", Parts: []kv.Part{{Op: kv.OpCheckNotExists, Key: "k"},
			{Op: kv.OpSet, Key: "k"}, {Op: kv.OpPrune, Key: "p"}}},
			[]string{`'lease:write' on "l"`, read, write, `'key:write' on everything that begins with "p"`}},
	} {
		if c.command.Op != kv.OpPutAll {
			c.command.Key = "k"
		}
		if got, panicked := needed(c.command); panicked || !slices.Equal(got, c.want) {
			t.Errorf("operation %d with mode %d needs %v, want %v", c.command.Op, c.command.Mode, got, c.want)
		}
	}
}

// A command that names no key, since its pairs cannot be read, is refused and not allowed without a permission.
func TestUnreadablePairsAreRefused(t *testing.T) {
	c := kv.Command{Op: kv.OpPutAll, Value: []byte{200}}
	if err := EachNeed(&c, func(acl.Permission, bool) error { return nil }); !errors.Is(err, kv.ErrCommand) {
		t.Error(err)
	}
}

// The first thing that is missing ends it, in whichever step it is.
func TestASequenceIsDecidedStepByStep(t *testing.T) {
	missing := errors.New("missing")
	c := kv.Command{Op: kv.OpSequence, Parts: []kv.Part{{Op: kv.OpFetch, Key: "a"}, {Op: kv.OpSet, Key: "b"}, {Op: kv.OpSet, Key: "c"}}}
	for _, without := range []string{"a", "b", "c"} {
		err := EachNeed(&c, func(p acl.Permission, _ bool) error {
			if p.Name == without {
				return missing
			}
			return nil
		})
		if err != missing {
			t.Errorf("without %s: %v", without, err)
		}
	}
}
