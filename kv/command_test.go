package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tenure/internal/codec"
)

func TestCommandRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCommand(t, newModel(small), allOps)
		got, err := DecodeCommand(EncodeCommand(&c))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
	})
}

func TestHeadersAreTheLibrarys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCommand(t, newModel(small), allOps)
		c.Key = strings.Repeat("k", rapid.IntRange(0, 70_000).Draw(t, "key bytes"))
		numbers := rapid.SampledFrom([]uint64{0, 1, 1 << 7, 1 << 31, 1 << 63})
		c.Base, c.Flags, c.Index = numbers.Draw(t, "base"), numbers.Draw(t, "flags"), numbers.Draw(t, "index")
		c.Decided = numbers.Draw(t, "decided under")
		c.Said = strings.Repeat("s", rapid.SampledFrom([]int{0, 32}).Draw(t, "said"))
		var more []byte
		if m := c.more(); m != (commandMore{}) {
			more = codec.Marshal(&m)
		}
		fields := []any{c.Op, c.Key, c.Mode, c.Flags, c.HasIndex, c.Index, c.IdemKey, c.Base, more, c.Decided, []byte(c.Said)}
		ends := []bool{true, c.Mode != 0, c.Flags != 0, c.HasIndex || c.Index != 0, c.IdemKey != "" || c.Base != 0, more != nil,
			c.Decided != 0, c.Said != ""}
		last := [...]int{2, 3, 4, 6, 8, 9, 10, 11}[lastTrue(ends)]
		header := appendHeader(nil, &c)
		if want := codec.Marshal(fields[:last]); !bytes.Equal(header, want) {
			t.Fatalf("%x, the library writes %x", header, want)
		}
		var got Command
		if _, err := decodeHeader(append(binary.AppendUvarint(nil, uint64(len(header))), header...),
			&got); err != nil && len(c.Test) == 0 {
			t.Fatal(err)
		}
		if got.Op != c.Op || got.Key != c.Key || got.Mode != c.Mode || got.Flags != c.Flags || got.HasIndex != c.HasIndex ||
			got.Index != c.Index ||
			got.IdemKey != c.IdemKey || got.Base != c.Base || got.Decided != c.Decided || got.Said != c.Said ||
			len(c.Test) == 0 && got.more() != c.more() {
			t.Fatalf("%+v came back as %+v", c, got)
		}
	})
}

// lastTrue returns the place of the last true one, which is there.
func lastTrue(list []bool) (at int) {
	for i, is := range list {
		if is {
			at = i
		}
	}
	return at
}

func TestCommandValidation(t *testing.T) {
	long := strings.Repeat("k", MaxKeyBytes)
	valued, flagged := del("a"), prune("a")
	valued.Value, flagged.Flags = []byte("x"), 1
	indexed := set("a", "")
	indexed.Index = 1
	for name, c := range map[string]struct {
		command Command
		good    bool
	}{
		"longest key":          {set(long, ""), true},
		"said":                 {Command{Op: OpSequence, Said: long[:32]}.keyed("w", 1), true},
		"said without a key":   {Command{Op: OpSequence, Said: long[:32]}, false},
		"said, too short":      {Command{Op: OpSequence, Said: long[:31]}.keyed("w", 1), false},
		"said by a set":        {Command{Op: OpSet, Key: "a", Said: long[:32]}.keyed("w", 1), false},
		"said by a step":       {Command{Op: OpSequence, Parts: []Part{{Op: OpSet, Key: "a", Said: long[:32]}}}, false},
		"key too long":         {set(long+"k", ""), false},
		"empty key":            {set("", "x"), false},
		"empty key deleted":    {del(""), false},
		"key not UTF-8":        {set("a\xff", "x"), false},
		"zero byte in key":     {set("a\x00b", "x"), true},
		"empty prefix":         {prune(""), true},
		"prefix too long":      {prune(long + "k"), false},
		"prefix not UTF-8":     {prune("\xc3"), false},
		"no operation":         {Command{Key: "a"}, false},
		"unknown operation":    {Command{Op: 200, Key: "a"}, false},
		"value too large":      {Command{Op: OpSet, Key: "a", Value: make([]byte, MaxValueBytes+1)}, false},
		"largest value":        {Command{Op: OpSet, Key: "a", Value: make([]byte, MaxValueBytes)}, true},
		"delete with a value":  {valued, false},
		"prune with flags":     {flagged, false},
		"prune with an index":  {prune("a").at(1), true},
		"index, no condition":  {indexed, false},
		"longest idem key":     {set("a", "").keyed(long[:MaxIdemKeyBytes], 0), true},
		"idem key too long":    {set("a", "").keyed(long[:MaxIdemKeyBytes+1], 0), false},
		"base and no idem key": {set("a", "").keyed("", 5), true},

		"lock without session":      {acquire("a", ""), false},
		"session without lock":      {Command{Op: OpSet, Key: "a", Session: Session{ID: one}}, false},
		"session that is none":      {acquire("a", "x"), false},
		"destroy of none":           {destroy(""), false},
		"lock in part, no session":  {transaction(acquire("a", "")), true},
		"unlock in part, none":      {transaction(release("a", "x")), true},
		"check in part, no session": {transaction(Part{Op: OpCheckSession, Key: "a"}), true},
		"longest session in part":   {transaction(acquire("a", long[:MaxPartSessionBytes])), true},
		"session in part too long":  {transaction(acquire("a", long[:MaxPartSessionBytes+1])), false},
		"session in part not UTF-8": {transaction(acquire("a", "\xff")), false},
		"part: session, no lock":    {transaction(Part{Op: OpSet, Key: "a", Session: Session{ID: one}}), false},
		"part: get with a session":  {transaction(Part{Op: OpGet, Key: "a", Session: Session{ID: one}}), false},
	} {
		err := c.command.Validate()
		if (err == nil) != c.good || err != nil && !errors.Is(err, ErrCommand) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := DecodeCommand(EncodeCommand(&c.command)); (err == nil) != c.good {
			t.Errorf("%s: decoded with %v", name, err)
		}
	}
	if _, err := DecodeCommand(make([]byte, MaxCommandBytes+1)); !errors.Is(err, ErrCommand) {
		t.Error(err)
	}
}

func TestBatchRoundTrip(t *testing.T) {
	var batch []byte
	want := [][]byte{[]byte("a"), {}, bytes.Repeat([]byte("x"), 300)}
	for _, cmd := range want {
		batch = AppendBatch(batch, cmd)
	}
	var got [][]byte
	if err := DecodeBatch(batch, func(cmd []byte) bool { got = append(got, cmd); return true }); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	if err := DecodeBatch(batch[:len(batch)-1], func([]byte) bool { return true }); !errors.Is(err, ErrCommand) {
		t.Fatalf("a batch that breaks off: %v", err)
	}
	if err := DecodeBatch(batch[:len(batch)-1], func([]byte) bool { return false }); err != nil {
		t.Fatalf("stopped before the broken place: %v", err)
	}
	if err := DecodeBatch(make([]byte, MaxBatchCommands+1), func([]byte) bool { return true }); !errors.Is(err,
		ErrCommand) {
		t.Fatalf("too many commands: %v", err)
	}
}

// costs fails if fn allocates more than a small multiple of the input.
func costs(t *testing.T, input int, fn func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(1<<18+64*input); got > limit {
		t.Fatalf("%d bytes allocated for %d", got, input)
	}
}

func FuzzDecodeCommand(f *testing.F) {
	for _, c := range []Command{set("a", "1").at(3).keyed("w", 2), del("b"), prune(""),
		acquire("a", one).under("lease/x", 3), create(Session{ID: one, TTL: 5}),
		transaction(set("a", "1"), Part{Op: OpGetTree}),
		{Op: OpSet, Mode: ModeEqual, Key: "a", Test: []byte("x"), Value: []byte("y")}, {Op: OpRename, Key: "a", NewKey: "b"}} {
		f.Add(EncodeCommand(&c))
	}
	f.Add([]byte{0x07, 0x97, 0x01, 0xdb, 0x7f, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		var c Command
		var err error
		costs(t, len(b), func() { c, err = DecodeCommand(b) })
		if err != nil {
			if !errors.Is(err, ErrCommand) || !cmp.Equal(c, Command{}) {
				t.Fatal(c, err)
			}
			return
		}
		again, err := DecodeCommand(EncodeCommand(&c))
		if err != nil || !cmp.Equal(c, again) {
			t.Fatalf("%+v came back as %+v, %v", c, again, err)
		}
	})
}

func FuzzApplyBatch(f *testing.F) {
	f.Add(batchOf(set("a", "1").keyed("w", 0), prune(""), del("a").at(1)))
	f.Add(batchOf(create(Session{ID: one, LockDelay: 5}), acquire("a", one),
		transaction(set("b", "1"), Part{Op: OpGetTree}, prune("b")), destroy(one)))
	f.Add([]byte{0, 0, 1, 7, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		var broken error
		costs(t, 0, func() { broken = DecodeBatch(b, func([]byte) bool { n++; return true }) })
		if broken != nil {
			if !errors.Is(broken, ErrCommand) {
				t.Fatal(broken)
			}
			n++
		}
		one, two := newMachine(t, small), newMachine(t, small)
		costs(t, 16*len(b), func() {
			r, err := one.Apply(1, b)
			if err != nil || len(r) != n {
				t.Fatalf("%d results, want %d, %v", len(r), n, err)
			}
		})
		if _, err := two.Apply(1, b); err != nil || one.digest() != two.digest() {
			t.Fatal("the same batch gave two states", err)
		}
		before := one.digest()
		one.takeCheckpoint()
		one.reopen()
		if one.digest() != before {
			t.Fatal("the checkpointed state is another one")
		}
	})
}

func FuzzRecords(f *testing.F) {
	f.Add(appendEntry(nil, &Entry{Value: []byte("v"), Flags: 1, CreateIndex: 2, ModifyIndex: 3}))
	f.Add(appendRemembered(nil, &remembered{key: "w", result: done(1)}))
	f.Add(codec.Marshal(&meta{Format: metaFormat, Slot: 7, Revision: 3}))
	f.Fuzz(func(t *testing.T, b []byte) {
		var e Entry
		var m remembered
		var errs [3]error
		var state meta
		costs(t, len(b), func() {
			e, errs[0] = decodeEntry("key", b)
			m, errs[1] = decodeRemembered(5, b)
			state, errs[2] = decodeMeta(7, b)
		})
		for _, err := range errs {
			if err != nil && !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
		}
		if errs[0] == nil {
			if again, err := decodeEntry("key", appendEntry(nil, &e)); err != nil || !cmp.Equal(e, again) {
				t.Fatal(e, again, err)
			}
		}
		if errs[1] == nil {
			if again, err := decodeRemembered(5, appendRemembered(nil, &m)); err != nil || m != again {
				t.Fatal(m, again, err)
			}
		}
		if errs[2] == nil {
			if again, err := decodeMeta(7, codec.Marshal(&state)); err != nil || state != again {
				t.Fatal(state, again, err)
			}
		}
	})
}

// A decoder that grows its buffer by fixed steps copies a large value thousands of times.
func TestLargeValueIsCopiedOnce(t *testing.T) {
	c := Command{Op: OpSet, Key: "a", Value: make([]byte, 1<<20)}
	b := EncodeCommand(&c)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := DecodeCommand(b); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 2<<20 {
		t.Fatalf("%d bytes allocated for a value of %d", got, len(c.Value))
	}
}
