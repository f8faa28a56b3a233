package kv

import (
	"strings"
	"testing"
)

// The state keeps nothing of a batch: neither keys nor values change with its memory.
func TestPlainPutsAreCopied(t *testing.T) {
	m := leveled(t, DefaultLimits)
	var seen []Changed
	m.Observe(Observer{Changed: func(c Changed) { seen = append(seen, c) }})
	c := sequence(put("a", "1"), put("b", "2"), Command{Op: OpAppend, Key: "a", Value: []byte("+")}, put("c", ""))
	batch := AppendBatch(nil, EncodeCommand(&c))
	if _, err := m.Apply(m.Applied()+1, batch); err != nil {
		t.Fatal(err)
	}
	for i := range batch {
		batch[i] = '#'
	}
	for key, want := range map[string]string{"a": "1+", "b": "2", "c": ""} {
		if e, found, err := m.Get(key); err != nil || !found || e.Key != key || string(e.Value) != want {
			t.Errorf("%q is %+v, %v, %v", key, e, found, err)
		}
	}
	var keys []string
	for _, c := range seen {
		keys = append(keys, c.Key)
	}
	if got := strings.Join(keys, " "); got != "b a c" {
		t.Errorf("watchers were told of %s", got)
	}
}

// Watchers are told once of a key that a sequence changes several times, however it does that.
func TestWatchersSeeTheLastChangeOfASequence(t *testing.T) {
	m := leveled(t, DefaultLimits)
	m.do(put("old", "0"))
	del := func(key string) Command { return Command{Op: OpDelete, Key: key} }
	for _, c := range []struct {
		steps Command
		want  string
	}{
		{sequence(put("a", "1"), put("b", "2"), put("a", "3")), "b=2 a=3"},
		{sequence(put("a", "1"), del("a"), put("b", "2"), put("a", "4")), "b=2 a=4"},
		{sequence(del("old"), put("old", "5"), put("new", "6")), "old=5 new=6"},
		{sequence(put("x", "1"), Command{Op: OpAdd, Mode: ModeCreate, Key: "x", Num: 1}, del("b")), "x=2 b"},
		{sequence(put("a", "7"), put("b", "8"), put("c", "9")), "a=7 b=8 c=9"},
	} {
		var told []string
		m.Observe(Observer{Changed: func(c Changed) {
			text := c.Key
			if c.Entry != nil {
				text += "=" + string(c.Entry.Value)
			}
			told = append(told, text)
		}})
		m.do(c.steps)
		if got := strings.Join(told, " "); got != c.want {
			t.Errorf("told %q, want %q", got, c.want)
		}
	}
}

// A check is no check behind a plain put, and a quota holds for plain puts.
func TestPlainPutsAmongOtherSteps(t *testing.T) {
	m := leveled(t, DefaultLimits)
	absent := Command{Op: OpCheckNotExists, Key: "a"}
	if r := m.do(sequence(put("c", "1"), absent))[0]; r.Code != CodeMalformed {
		t.Errorf("a check behind a put: %v", r.Code)
	}
	m.do(Command{Op: OpQuota, Key: "q/", Value: QuotaLimits(0, 1)})
	got := m.steps(sequence(put("q/1", "x"), put("q/2", "x"), put("r", "x"), put("q/1", "y")))
	refused := "done 0; " + CodeQuota.String() + " 0 "
	if !strings.HasPrefix(got, refused) || !strings.HasSuffix(got, "; done 0; done 0") {
		t.Errorf("got %q", got)
	}
	r := m.do(sequence(append([]Part{absent}, put("a", "1"), put("b", "2"))...))[0]
	if r.Code != CodeDone {
		t.Errorf("a check before plain puts: %v", r.Code)
	}
	r = m.do(sequence(Command{Op: OpCheckNotExists, Key: "z"}, absent, put("a", "1")))[0]
	if r.Code != CodeCondition || r.Count != 1 {
		t.Errorf("the second check fails: %v, %d", r.Code, r.Count)
	}
}
