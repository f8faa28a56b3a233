package kv

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// putAll is an OpPutAll of keys and values in turn.
func putAll(words ...string) Command {
	c := Command{Op: OpPutAll}
	for i := 0; i < len(words); i += 2 {
		c.Value = AppendPair(c.Value, words[i], []byte(words[i+1]))
	}
	return c
}

func TestAllKeysArePutOrNone(t *testing.T) {
	m := leveled(t, DefaultLimits)
	m.do(Command{Op: OpQuota, Key: "q/", Value: QuotaLimits(0, 2)})
	before := m.Revision()
	var told []string
	m.Observe(Observer{Changed: func(c Changed) { told = append(told, c.Key) }})
	got := m.steps(sequence(
		putAll("a", "1", "q/1", "1", "q/2", "1", "q/3", "1"),
		Command{Op: OpMeasure, Key: "a"}))
	if !strings.HasPrefix(got, "over a quota 0 ") || !strings.HasSuffix(got, "; done 0") {
		t.Errorf("above a quota: %s", got)
	}
	if m.Revision() != before || told != nil {
		t.Errorf("what was refused has taken the revision from %d to %d, and was told: %q", before, m.Revision(), told)
	}
	if got := m.steps(sequence(put("before", "1"), putAll("a", "1", "q/1", "1", "q/2", "1"),
		putAll("a", "2", "q/3", "1"), Command{Op: OpFetch, Key: "a"})); !strings.HasPrefix(got, "done 0; done 0; over a quota") ||
		!strings.HasSuffix(got, "; done 2 1") {
		t.Errorf("behind another: %s", got)
	}
	if m.Revision() != before+1 || !slices.Equal(told, []string{"before", "a", "q/1", "q/2"}) {
		t.Errorf("the revision went from %d to %d; told: %q", before, m.Revision(), told)
	}
	m.do(sequence(putAll("c", "1", "q/3", "1"), put("d", "1")))
	if e, _, _ := m.Get("d"); e.ModifyIndex != before+2 || m.Revision() != before+2 {
		t.Errorf("a write behind one that was refused has revision %d, the state %d", e.ModifyIndex, m.Revision())
	}
}

func TestConditionsOfAllKeys(t *testing.T) {
	m := leveled(t, DefaultLimits)
	absent := func(words ...string) Command { c := putAll(words...); c.Mode = ModeAbsent; return c }
	equal := putAll("a", "new", "b", "new")
	equal.Mode, equal.Test, equal.TTL = ModeEqual, []byte("2"), time.Minute
	got := m.steps(sequence(absent("a", "1", "a", "2"), absent("b", "3", "a", "3"), Command{Op: OpMeasure, Key: "b"},
		equal, put("b", "2"), equal, Command{Op: OpFetch, Key: "a"}))
	if want := "done 0; condition not met 0; done 0; condition not met 0; done 0; done 0; done 4 new"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if e, _, _ := m.Get("b"); e.TTL != time.Minute {
		t.Errorf("%+v", e)
	}
}

func TestInvalidPairs(t *testing.T) {
	for name, c := range map[string]Command{
		"none": {Op: OpPutAll}, "cut off": {Op: OpPutAll, Value: putAll("a", "1").Value[:2]}, "no key": putAll("", "1"),
		"no UTF-8": putAll("a", "1", "\xff", "1"),
	} {
		if s := sequence(c); !errors.Is(s.Validate(), ErrCommand) {
			t.Errorf("%s: %v", name, s.Validate())
		}
	}
	m := leveled(t, DefaultLimits)
	m.want(putAll("a", "1", "b", "2").keyed("w", 1), done(2))
}
