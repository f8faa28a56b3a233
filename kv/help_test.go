package kv

import (
	"fmt"
	"testing"
)

// small limits make everything be forgotten soon.
var small = Limits{DedupEntries: 4, DedupRevisions: 6, PruneKeys: 50, Sessions: 3, Locks: 4, ExpiringKeys: 3,
	Fences: 3, Tombstones: 5, Quotas: 3, Policies: 3, Tokens: 4, CountKeys: 2}

// with is l with other limits of idempotency keys and prunes.
func (l Limits) with(entries int, revisions uint64, prune int) Limits {
	l.DedupEntries, l.DedupRevisions, l.PruneKeys = entries, revisions, prune
	return l
}

// poisoned is a Source whose views return copies and spoil them on Close, so that a test fails if bytes are kept.
type poisoned struct {
	*MemStateDB
	open *int
}

func (p poisoned) View() (StateDB, error) {
	v, err := p.MemStateDB.View()
	if p.open != nil {
		*p.open++
	}
	return &poisonedView{StateDB: v, open: p.open}, err
}

type poisonedView struct {
	StateDB
	open   *int
	handed [][]byte
}

func (v *poisonedView) hand(b []byte) []byte {
	if b == nil {
		return nil
	}
	c := append([]byte{}, b...)
	v.handed = append(v.handed, c)
	return c
}

func (v *poisonedView) Get(s RecordKind, key []byte) ([]byte, error) {
	b, err := v.StateDB.Get(s, key)
	return v.hand(b), err
}

func (v *poisonedView) Ascend(s RecordKind, from []byte, fn func(k, b []byte) bool) error {
	return v.StateDB.Ascend(s, from, func(k, b []byte) bool { return fn(v.hand(k), v.hand(b)) })
}

func (v *poisonedView) Descend(s RecordKind, below []byte, fn func(k, b []byte) bool) error {
	return v.StateDB.Descend(s, below, func(k, b []byte) bool { return fn(v.hand(k), v.hand(b)) })
}

func (v *poisonedView) Close() {
	for _, b := range v.handed {
		clear(b)
	}
	if v.open != nil {
		*v.open--
	}
	v.StateDB.Close()
}

// machine is a state over a state database in memory, with short words for what tests do to it.
type machine struct {
	*State
	t       testing.TB
	stateDB *MemStateDB
	l       Limits
}

func newMachine(t testing.TB, l Limits) *machine {
	m := &machine{t: t, stateDB: NewMemStateDB(), l: l}
	m.reopen()
	return m
}

func (m *machine) reopen() {
	m.t.Helper()
	s, err := Open(poisoned{MemStateDB: m.stateDB}, m.l)
	if err != nil {
		m.t.Fatal(err)
	}
	m.State = s
}

// checkpoint checkpoints everything, as the runner does in the background.
func (m *machine) takeCheckpoint() {
	m.t.Helper()
	f := m.Freeze()
	if f == nil {
		return
	}
	m.stateDB.Merge(f.Checkpoint())
	if err := m.Checkpointed(); err != nil {
		m.t.Fatal(err)
	}
}

// do applies commands as the next slot.
func (m *machine) do(cs ...Command) []Result {
	m.t.Helper()
	r, err := m.Apply(m.Applied()+1, batchOf(cs...))
	if err != nil {
		m.t.Fatal(err)
	}
	if len(r) != len(cs) {
		m.t.Fatalf("%d results for %d commands", len(r), len(cs))
	}
	return r
}

// want applies c and checks its whole result.
func (m *machine) want(c Command, want Result) {
	m.t.Helper()
	if got := m.do(c)[0]; got != want {
		m.t.Fatalf("%+v: got %+v, want %+v", c, got, want)
	}
}

func (m *machine) get(key string) string {
	m.t.Helper()
	e, found, err := m.Get(key)
	if err != nil {
		m.t.Fatal(err)
	}
	return show(e, found)
}

func (m *machine) digest() [32]byte {
	m.t.Helper()
	d, err := m.Digest()
	if err != nil {
		m.t.Fatal(err)
	}
	return d
}

func show(e Entry, found bool) string {
	if !found {
		return "-"
	}
	text := fmt.Sprintf("%s=%s f%d c%d m%d l%d", e.Key, e.Value, e.Flags, e.CreateIndex, e.ModifyIndex, e.LockIndex)
	if e.Session != "" {
		text += " s" + e.Session[:1]
	}
	if e.TTL > 0 {
		text += " t" + e.TTL.String()
	}
	return text
}

func batchOf(cs ...Command) []byte {
	var b []byte
	for i := range cs {
		b = AppendBatch(b, EncodeCommand(&cs[i]))
	}
	return b
}

func set(key, value string) Command { return Command{Op: OpSet, Key: key, Value: []byte(value)} }

func del(key string) Command { return Command{Op: OpDelete, Key: key} }

func prune(prefix string) Command { return Command{Op: OpPrune, Key: prefix} }

func (c Command) at(index uint64) Command {
	c.HasIndex, c.Index = true, index
	return c
}

func (c Command) keyed(key string, base uint64) Command {
	c.IdemKey, c.Base = key, base
	return c
}
