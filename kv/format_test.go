package kv

import (
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// These bytes are on disks: plain commands never change.
func TestPlainCommandsKeepTheirBytes(t *testing.T) {
	for want, c := range map[string]Command{
		"0b9801a1610000c303a1770231":         set("a", "1").at(3).keyed("w", 2),
		"109602a1620000c3cf0000010000000000": del("b").at(1 << 40),
		"0c9a01a16b0000c200a000c007":         set("k", "").decided(7),
		"039203a0":                           prune(""), "049201a16b": set("k", ""),
	} {
		if got := hex.EncodeToString(EncodeCommand(&c)); got != want {
			t.Errorf("%+v is %s, was %s", c, got, want)
		}
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A state database from before there were sessions opens, and what it remembers of commands still counts.
func TestAnOlderStateDBOpens(t *testing.T) {
	m := newMachine(t, small)
	m.stateDB.Merge(&Checkpoint{Slot: 1, Meta: unhex(t, "96010103000002"), Changes: slices.Values([]Change{
		{KindData, []byte("b"), unhex(t, "010002020032")},
		{KindDedup, sequenceKey(0), unhex(t, "010101001bde4a466c10762ef4ed9c98a29f530077")},
		{KindDedup, sequenceKey(1), unhex(t, "01020300f67f2e11222d7407d8750e7b8c53628c76")},
	})})
	m.reopen()
	m.shows("b", "b=2 f0 c2 m2 l0")
	m.want(set("a", "1").keyed("w", 0), done(1))
	m.want(set("c", "3").at(9).keyed("v", 1), refused(3))
	f := m.Freeze().Checkpoint()
	if n := len(listed(f)); n != 0 {
		t.Errorf("%d changes", n)
	}
	m.stateDB.Merge(f)
	m.reopen()
	m.do(del("b"))
	m.takeCheckpoint()
	m.reopen()
}

func TestRecordsOfEntriesAreShortWhereTheyCanBe(t *testing.T) {
	plain := Entry{Key: "b", Value: []byte("2"), CreateIndex: 2, ModifyIndex: 2}
	if got := hex.EncodeToString(appendEntry(nil, &plain)); got != "010002020032" {
		t.Errorf("a plain entry is %s", got)
	}
	for _, e := range []Entry{plain, {Key: "b", CreateIndex: 1, ModifyIndex: 2, TTL: 5},
		{Key: "b", CreateIndex: 1, ModifyIndex: 2, Session: one, Value: []byte{0}}} {
		if got, err := decodeEntry("b", appendEntry(nil, &e)); err != nil || show(got, true) != show(e, true) {
			t.Errorf("%s came back as %s, %v", show(e, true), show(got, true), err)
		}
	}
	for _, bad := range []string{"", "03000202003", "0200020200050161", "02000202000501",
		"0200020200ffffffffffffffffff0100"} {
		b, _ := hex.DecodeString(bad)
		if _, err := decodeEntry("b", b); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestValidationOfTheNewCommands(t *testing.T) {
	id, long := Session{ID: one}, strings.Repeat("k", MaxKeyBytes)
	timed := func(c Command, ttl time.Duration) Command { c.TTL = ttl; return c }
	locked := acquire("a", one)
	flagged := Command{Op: OpAdd, Key: "a", Flags: 1}
	for name, c := range map[string]struct {
		command Command
		good    bool
	}{
		"TTL":                  {timed(set("a", ""), MaxTTL), true},
		"TTL too long":         {timed(set("a", ""), MaxTTL+1), false},
		"negative TTL":         {timed(set("a", ""), -1), false},
		"TTL of a delete":      {timed(del("a"), 1), false},
		"lock with a TTL":      {timed(locked, 1), true},
		"lock with an index":   {locked.at(1), false},
		"lock, no session":     {Command{Op: OpSet, Key: "a", Lock: LockAcquire}, false},
		"session, no lock":     {Command{Op: OpSet, Key: "a", Session: id}, false},
		"unknown lock":         {Command{Op: OpSet, Key: "a", Lock: 3, Session: id}, false},
		"lock, half an ID":     {acquire("a", one[:35]), false},
		"lock, upper case":     {acquire("a", "A"+one[1:]), false},
		"lock, ID with a dash": {acquire("a", "-"+one[1:]), false},
		"lock, more of session": {Command{Op: OpSet, Key: "a", Lock: LockAcquire,
			Session: Session{ID: one, Name: "n"}}, false},
		"create": {create(Session{ID: one, Name: long[:MaxSessionNameBytes], Node: "n",
			LockDelay: MaxTTL, Behavior: Delete, TTL: MaxTTL}), true},
		"create, no ID":      {create(Session{Name: "n"}), false},
		"create, long name":  {create(Session{ID: one, Name: long}), false},
		"create, bad node":   {create(Session{ID: one, Node: "\xff"}), false},
		"create, behavior":   {create(Session{ID: one, Behavior: 2}), false},
		"create, delay":      {create(Session{ID: one, LockDelay: -1}), false},
		"create, index":      {create(Session{ID: one, CreateIndex: 1}), false},
		"create, key":        {Command{Op: OpSessionCreate, Key: "a", Session: id}, false},
		"create, fence":      {create(id).under("kv/a", 1), false},
		"destroy, no ID":     {Command{Op: OpSessionDestroy}, false},
		"end with a key":     {Command{Op: OpEndSession, Session: id, Arm: 1}.keyed("w", 0), false},
		"end":                {Command{Op: OpEndSession, Session: id}, true},
		"end with a base":    {Command{Op: OpEndKey, Key: "a", Base: 1}, false},
		"add":                {Command{Op: OpAdd, Key: "a", Num: -1}, true},
		"add with flags":     {flagged, false},
		"rename":             {Command{Op: OpRename, Key: "a", NewKey: long}, true},
		"rename to nothing":  {Command{Op: OpRename, Key: "a"}, false},
		"rename, long key":   {Command{Op: OpRename, Key: "a", NewKey: long + "k"}, false},
		"set with a new key": {Command{Op: OpSet, Key: "a", NewKey: "b"}, false},
		"test and set": {Command{Op: OpSet, Mode: ModeEqual, Key: "a", Test: make([]byte, MaxValueBytes/2),
			Value: make([]byte, MaxValueBytes/2)}, true},
		"test and set, large": {Command{Op: OpSet, Mode: ModeEqual, Key: "a", Test: make([]byte, MaxValueBytes),
			Value: []byte("x")}, false},
		"set with a test":      {Command{Op: OpSet, Key: "a", Test: []byte("x")}, false},
		"fence":                {set("a", "").under("lease/x", 0), true},
		"fence of a key":       {set("a", "").under("kv/"+long, 1), true},
		"fence, no kind":       {set("a", "").under("x", 1), false},
		"fence, no name":       {set("a", "").under("kv/", 1), false},
		"token, no fence":      {set("a", "").under("", 1), false},
		"drop a fence":         {Command{Op: OpDropFence, Fence: "kv/x"}, true},
		"drop no fence":        {Command{Op: OpDropFence}, false},
		"drop with a token":    {Command{Op: OpDropFence}.under("kv/x", 1), false},
		"verb alone":           {Command{Op: OpGet, Key: "a"}, false},
		"transaction":          {transaction(set("a", ""), Part{Op: OpGetTree}), true},
		"transaction, key":     {Command{Op: OpTransaction, Key: "a"}, false},
		"parts of a set":       {Command{Op: OpSet, Key: "a", Parts: []Part{set("a", "")}}, false},
		"most parts":           {transaction(make([]Part, MaxParts)...), false},
		"part, bad key":        {transaction(set("", "")), false},
		"part, keyed":          {transaction(set("a", "").keyed("w", 0)), false},
		"part, based":          {transaction(set("a", "").keyed("", 1)), false},
		"part, fenced":         {transaction(set("a", "").under("kv/a", 1)), false},
		"part, transaction":    {transaction(transaction(set("a", ""))), false},
		"part, with a mode":    {transaction(Command{Op: OpDelete, Mode: ModeEntry, Key: "a"}), false},
		"part, session":        {transaction(create(id)), false},
		"part, get with value": {transaction(Part{Op: OpGet, Key: "a", Value: []byte("v")}), false},
		"the largest part":     {transaction(set(long, string(make([]byte, MaxValueBytes)))), true},
		"parts too large":      {transaction(set("a", string(make([]byte, MaxValueBytes))), set(long, long), set(long, long)), false},
	} {
		err := c.command.Validate()
		if (err == nil) != c.good || err != nil && !errors.Is(err, ErrCommand) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "create, index" || name == "parts of a set" {
			continue // they do not travel
		}
		if _, err := DecodeCommand(EncodeCommand(&c.command)); (err == nil) != c.good {
			t.Errorf("%s: decoded with %v", name, err)
		}
	}
	many := make([]Part, MaxParts)
	for i := range many {
		many[i] = set(long, string(make([]byte, 1000)))
	}
	if c := transaction(many...); c.Validate() != nil {
		t.Error(c.Validate())
	}
	if c := transaction(append(many, set("a", ""))...); c.Validate() == nil {
		t.Error("too many parts pass")
	} else if _, err := DecodeCommand(EncodeCommand(&c)); !errors.Is(err, ErrCommand) {
		t.Errorf("too many parts are decoded: %v", err)
	}
}

// The largest command of each kind fits into MaxCommandBytes.
func TestTheLargestCommandsFit(t *testing.T) {
	key := strings.Repeat("k", MaxKeyBytes)
	idem, name := key[:MaxIdemKeyBytes], key[:MaxSessionNameBytes]
	most := ^uint64(0)
	set := Command{Op: OpSet, Key: key, Value: make([]byte, MaxValueBytes), Flags: most, Lock: LockAcquire,
		TTL: MaxTTL, Session: Session{ID: one}}
	part := Part{Op: OpSet, Key: key, Flags: most, Lock: LockAcquire, TTL: MaxTTL,
		Session: Session{ID: key[:MaxPartSessionBytes]}}
	part.Value = make([]byte, MaxValueBytes-partOverhead-len(key)-len(part.Session.ID))
	for _, c := range []Command{
		set.under("lease/"+key, most).keyed(idem, most),
		Command{Op: OpSet, Mode: ModeEqual, Key: key, Test: make([]byte, MaxValueBytes)}.under("lease/"+key, most).keyed(idem,
			most),
		Command{Op: OpRename, Key: key, NewKey: key}.under("lease/"+key, most).keyed(idem, most),
		create(Session{ID: one, Name: name, Node: name, LockDelay: MaxTTL, TTL: MaxTTL, Behavior: Delete}).keyed(idem,
			most),
		transaction(part).under("lease/"+key, most).keyed(idem, most),
	} {
		if _, err := DecodeCommand(EncodeCommand(&c)); err != nil {
			t.Errorf("operation %d: %v", c.Op, err)
		}
	}
	small := Part{Op: OpRename, Key: "k", NewKey: "n"}
	if n := len(EncodeCommand(&small)) - 2; n > partOverhead {
		t.Errorf("a part takes %d bytes beside its keys", n)
	}
	entry := Entry{Key: key, Value: make([]byte, MaxValueBytes), Flags: most, CreateIndex: most, ModifyIndex: most,
		LockIndex: most, TTL: MaxTTL, Session: one}
	if n := len(EncodeEntries(entry)); n > MaxBodyBytes {
		t.Errorf("a removed entry takes %d bytes", n)
	}
}
