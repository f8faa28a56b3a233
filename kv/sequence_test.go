package kv

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func sequence(parts ...Part) Command { return Command{Op: OpSequence, Parts: parts} }

func put(key, value string) Command { return Command{Op: OpSet, Key: key, Value: []byte(value)} }

// leveled is a machine at the newest feature level.
func leveled(t *testing.T, l Limits) *machine {
	m := newMachine(t, l)
	m.do(level(NewestLevel))
	return m
}

// steps applies a sequence that is done, and returns what its steps came to in words.
func (m *machine) steps(c Command) string {
	m.t.Helper()
	r := m.do(c)[0]
	if r.Code != CodeDone {
		m.t.Fatalf("the sequence ended with %v", r.Code)
	}
	var out []string
	for s := StepsOf(&r); s.rest != ""; {
		x, err := s.Next()
		if err != nil {
			m.t.Fatal(err)
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%v %d %s", x.Code, x.Count, x.Body)))
	}
	return strings.Join(out, "; ")
}

func TestStepsSeeThoseBeforeThemAndFailAlone(t *testing.T) {
	m := leveled(t, DefaultLimits)
	m.do(put("text", "x"))
	before := m.Revision()
	got := m.steps(sequence(
		Command{Op: OpFetch, Key: "n"},
		Command{Op: OpAdd, Mode: ModeCreate, Key: "n", Num: 5},
		Command{Op: OpAdd, Mode: ModeCreate, Key: "text", Num: 1},
		Command{Op: OpFetch, Key: "n"},
		Command{Op: OpDelete, Key: "n"},
		Command{Op: OpMeasure, Key: "n"},
		Command{Op: OpAppend, Key: "text", Value: []byte("yz")}))
	want := "done 0; done 0 5; not a number 0; done 2 5; done 1; done 0; done 4"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if m.Revision() != before+1 {
		t.Errorf("the revision went from %d to %d: a sequence has one", before, m.Revision())
	}
}

func TestNothingIsAppliedIfACheckDoesNotHold(t *testing.T) {
	m := leveled(t, DefaultLimits)
	m.do(put("a", "1"))
	e, _, _ := m.Get("a")
	holds := Command{Op: OpCheckIndex, Key: "a", HasIndex: true, Index: e.ModifyIndex}
	absent := Command{Op: OpCheckNotExists, Key: "b"}
	m.want(sequence(holds, Command{Op: OpCheckNotExists, Key: "a"}, put("b", "2")),
		Result{Code: CodeCondition, Revision: m.Revision(), Count: 1})
	if _, found, _ := m.Get("b"); found {
		t.Error("b was written")
	}
	if got := m.steps(sequence(holds, absent, put("b", "2"))); got != "done 0" {
		t.Errorf("with checks that hold: %s", got)
	}
	late := sequence(put("c", "1"), absent)
	if err := late.Validate(); !errors.Is(err, ErrCommand) {
		t.Errorf("a check behind a step: %v", err)
	}
}

func TestAKeyIsUnchangedSinceARevision(t *testing.T) {
	l := DefaultLimits
	l.Tombstones = 2
	m := leveled(t, l)
	m.do(put("there", "1"))
	since := func(key string, revision uint64) Command {
		return sequence(Command{Op: OpCheckUnchanged, Key: key, HasIndex: true, Index: revision}, put("wrote", "1"))
	}
	holds := func(what, key string, revision uint64, want bool) {
		t.Helper()
		if r := m.do(since(key, revision))[0]; (r.Code == CodeDone) != want {
			t.Errorf("%s: %v", what, r.Code)
		}
	}
	before := m.Revision()
	holds("one that is there", "there", before, true)
	holds("one that is absent", "absent", before, true)
	m.do(put("there", "2"))
	holds("one that was written", "there", before, false)
	m.do(put("absent", "1"))
	holds("one that was made", "absent", before, false)
	m.do(Command{Op: OpDelete, Key: "absent"})
	holds("one that was made and deleted", "absent", before, false)
	holds("since its deletion", "absent", m.Revision(), true)
	before = m.Revision()
	for _, key := range []string{"x", "y", "z"} { // more than are remembered one by one
		m.do(put(key, "1"))
		m.do(Command{Op: OpDelete, Key: key})
	}
	holds("a deletion that is forgotten", "x", before, false)
	if err := (&Command{Op: OpTransaction, Parts: since("x", 1).Parts[:1]}).Validate(); !errors.Is(err, ErrCommand) {
		t.Errorf("in a transaction: %v", err)
	}
}

func TestASequenceIsAppliedOnceUnderItsKey(t *testing.T) {
	m := leveled(t, DefaultLimits)
	c := sequence(Command{Op: OpAdd, Mode: ModeCreate, Key: "n", Num: 1}).keyed("w", m.Revision())
	first := m.do(c)[0]
	if again := m.do(c)[0]; again != first {
		t.Errorf("again: %+v, at first %+v", again, first)
	}
	if e, _, _ := m.Get("n"); string(e.Value) != "1" {
		t.Errorf("n is %q", e.Value)
	}
	other := sequence(Command{Op: OpSet, Key: "n", Mode: ModeAbsent}).keyed("x", m.Revision())
	m.do(other)
	other.Parts[0].Mode = ModePresent
	if r := m.do(other)[0]; r.Code != CodeKeyReused {
		t.Errorf("another mode under the same key: %v", r.Code)
	}
}

// The results of a sequence have a bound together. What does not fit is left out, with all steps behind it, and fits at
// the beginning of the next sequence.
func TestASequenceEndsBeforeAResultThatDoesNotFit(t *testing.T) {
	m := leveled(t, DefaultLimits)
	large, largest := strings.Repeat("v", MaxValueBytes/2+1<<12), strings.Repeat("w", MaxValueBytes)
	m.do(put("large", large))
	m.do(put("largest", largest))
	steps := []Part{{Op: OpFetch, Key: "large"}, {Op: OpSet, Key: "large", Mode: ModeReturn},
		put("behind", "1"), {Op: OpFetch, Key: "largest"}, {Op: OpDelete, Key: "behind"}}
	for i, want := range []struct {
		done  int
		value string // of large, then
	}{{1, large}, {1, ""}, {1, ""}, {1, ""}, {1, ""}} {
		r := m.do(sequence(steps...))[0]
		if r.Code != CodeDone || int(r.Count) != len(steps)-want.done || len(r.Body) > MaxBodyBytes {
			t.Fatalf("sequence %d of %d steps: %v, %d left, %d bytes", i, len(steps), r.Code, r.Count, len(r.Body))
		}
		s := StepsOf(&r)
		for range want.done {
			if x, err := s.Next(); err != nil || x.Code != CodeDone {
				t.Fatalf("sequence %d: %v, %v", i, x.Code, err)
			}
		}
		if e, _, _ := m.Get("large"); string(e.Value) != want.value {
			t.Fatalf("after sequence %d large has %d bytes", i, len(e.Value))
		}
		steps = steps[want.done:]
	}
	if len(steps) > 0 {
		t.Errorf("%d steps are left", len(steps))
	}
}

// The steps of one command that writes are carried out together.
func TestASequenceEndsBeforeManyStepsWithoutValues(t *testing.T) {
	m := leveled(t, DefaultLimits)
	m.do(put("large", strings.Repeat("v", SequenceBytes-1500)))
	steps := []Part{{Op: OpFetch, Key: "large"}}
	for i := range 1000 {
		steps = append(steps, Command{Op: OpDelete, Key: fmt.Sprint("k", i)})
	}
	if r := m.do(sequence(steps...))[0]; r.Code != CodeDone || r.Count != 1000 {
		t.Errorf("%v, %d steps are left, want all behind the value", r.Code, r.Count)
	}
}

func TestTheLargestStepFitsAlone(t *testing.T) {
	m := leveled(t, DefaultLimits)
	key := strings.Repeat("k", MaxKeyBytes)
	if got := m.steps(sequence(put(key, strings.Repeat("v", MaxValueBytes)))); got != "done 0" {
		t.Error(got)
	}
}

// A transaction of which a step is refused for its size or for space is not applied; a step that fails otherwise fails
// alone.
func TestAWholeSequenceIsAppliedOrNot(t *testing.T) {
	l := DefaultLimits
	l.ExpiringKeys = 1
	quota := Command{Op: OpQuota, Key: "q/", Value: QuotaLimits(10, 0)}
	expiring := Command{Op: OpSet, Key: "e", Value: []byte("1"), TTL: time.Hour}
	for _, c := range []struct {
		name string
		step Command
		want Code
	}{
		{"over a quota", put("q/a", "more than that"), CodeQuota},
		{"too many that expire", Command{Op: OpSetTTL, Key: "text", TTL: time.Hour}, CodeFull},
		{"too long", Command{Op: OpAppend, Key: "text", Value: []byte("yz"), Num: 2}, CodeTooLarge},
		{"no space for the results", Command{Op: OpFetch, Key: "large"}, CodeTooLarge},
		{"no number", Command{Op: OpAdd, Mode: ModeCreate, Key: "text", Num: 1}, CodeDone},
		{"a condition", Command{Op: OpSet, Key: "text", Mode: ModeAbsent}, CodeDone},
	} {
		m := leveled(t, l)
		for _, before := range []Command{quota, expiring, put("text", "x"), put("large", strings.Repeat("v", MaxValueBytes))} {
			m.do(before)
		}
		revision := m.Revision()
		steps := sequence(put("first", "1"), Command{Op: OpFetch, Key: "large"}, c.step, put("last", "1"))
		if c.want != CodeTooLarge {
			steps.Parts = slices.Delete(steps.Parts, 1, 2)
		}
		steps.Mode = ModeWhole
		r := m.do(steps)[0]
		_, first, _ := m.Get("first")
		_, last, _ := m.Get("last")
		if done := c.want == CodeDone; r.Code != c.want || first != done || last != done || done != (r.Revision > revision) {
			t.Errorf("%s: %v at revision %d after %d; the first step is applied: %v, the last: %v", c.name, r.Code, r.Revision,
				revision, first, last)
		}
	}
}

func TestWhatRedisDoesWithATTL(t *testing.T) {
	minute := time.Minute
	for _, c := range []struct {
		name string
		do   Command
		want time.Duration
	}{
		{"a put ends it", put("k", "2"), 0},
		{"unless it keeps it", Command{Op: OpSet, Key: "k", Mode: ModeKeep}, minute},
		{"an increment leaves it", Command{Op: OpAdd, Mode: ModeCreate, Key: "k", Num: 1}, minute},
		{"an append leaves it", Command{Op: OpAppend, Key: "k", Value: []byte("0")}, minute},
		{"NX finds one", Command{Op: OpSetTTL, Key: "k", TTL: time.Hour, Mode: ModeAbsent}, minute},
		{"XX finds one", Command{Op: OpSetTTL, Key: "k", TTL: time.Hour, Mode: ModePresent}, time.Hour},
		{"made permanent", Command{Op: OpSetTTL, Key: "k"}, 0},
	} {
		m := leveled(t, DefaultLimits)
		m.do(Command{Op: OpSet, Key: "k", Value: []byte("1"), TTL: minute})
		m.do(c.do)
		if e, _, _ := m.Get("k"); e.TTL != c.want {
			t.Errorf("%s: the TTL is %v, want %v", c.name, e.TTL, c.want)
		}
	}
}

func TestAnAppendStaysWithinItsBound(t *testing.T) {
	m := leveled(t, DefaultLimits)
	within := Command{Op: OpAppend, Key: "k", Value: []byte("abc"), Num: 5}
	m.do(within)
	if r := m.do(within)[0]; r.Code != CodeTooLarge {
		t.Errorf("beyond its bound: %v", r.Code)
	}
	if e, _, _ := m.Get("k"); string(e.Value) != "abc" {
		t.Errorf("k is %q", e.Value)
	}
}

func TestModesThatMakeNoSense(t *testing.T) {
	for _, c := range []Command{
		{Op: OpSet, Key: "k", Mode: ModeAbsent | ModePresent},
		{Op: OpSet, Key: "k", Mode: 1 << 7},
		{Op: OpSet, Key: "k", Mode: ModeKeep, TTL: time.Second},
		{Op: OpSet, Key: "k", Test: []byte("x")},
		{Op: OpAdd, Key: "k", Mode: ModeReturn},
		{Op: OpFetch, Key: "k"},
		sequence(acquire("k", one)),
		transaction(Command{Op: OpSet, Key: "k", Mode: ModeAbsent}),
		sequence(sequence()),
		{Op: OpRename, Key: "k"},
	} {
		if err := c.Validate(); !errors.Is(err, ErrCommand) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestMalformedStepsAreErrors(t *testing.T) {
	for _, body := range []string{"", "\x01", "\x01\x00\x05ab", "\x00\x00\x00", "\xff\x00\x00",
		"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00"} {
		s := Steps{rest: body}
		if _, err := s.Next(); !errors.Is(err, ErrBody) {
			t.Errorf("%q: %v", body, err)
		}
	}
}
