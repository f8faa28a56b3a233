package kv

import (
	"fmt"
	"strings"
	"testing"

	"tenure/internal/codec"
)

// The state keeps nothing of a batch: neither keys nor values change with its memory.
func TestPlainPutsAreCopied(t *testing.T) {
	m := leveled(t, DefaultLimits)
	var seen []Changed
	m.Observe(Observer{Changed: func(c Changed) { seen = append(seen, c) }})
	batch := batchOf(sequence(put("a", "1"), put("b", "2"), Command{Op: OpAppend, Key: "a", Value: []byte("+")},
		put("c", "")), put("d", "3"))
	if _, err := m.Apply(m.Applied()+1, batch); err != nil {
		t.Fatal(err)
	}
	for i := range batch {
		batch[i] = '#'
	}
	for key, want := range map[string]string{"a": "1+", "b": "2", "c": "", "d": "3"} {
		if e, found, err := m.Get(key); err != nil || !found || e.Key != key || string(e.Value) != want {
			t.Errorf("%q is %+v, %v, %v", key, e, found, err)
		}
	}
	var keys []string
	for _, c := range seen {
		keys = append(keys, c.Key)
	}
	if got := strings.Join(keys, " "); got != "b a c d" {
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

// asOther encodes a plain put with a Mode of 0, so that it is decoded like any other command and means the same.
func asOther(key string, value []byte) []byte {
	header := codec.AppendString(codec.AppendUint(codec.AppendArray(nil, 3), uint64(OpSet)), key)
	header = codec.AppendUint(header, 0)
	return appendPayload(nil, header, &Command{Value: value})
}

// A plain put does what a put that is decoded like any other command does, whatever was there and whether it is valid.
func TestPlainPutsDoWhatOtherPutsDo(t *testing.T) {
	if known(OpSet).level != 0 {
		t.Error("plain puts ask for no feature level, and sets need one")
	}
	var told [2]strings.Builder
	var ms [2]*machine
	for i := range ms {
		m := leveled(t, small)
		ms[i] = m
		m.Observe(Observer{
			Changed: func(c Changed) {
				e := c.Entry
				if c.Entry = nil; e != nil {
					fmt.Fprintf(&told[i], "%.200s ", show(*e, true))
				}
				fmt.Fprintf(&told[i], "%+v\n", c)
			},
			Timed: func(c Timed) { fmt.Fprintf(&told[i], "%+v\n", c) },
		})
		timed := put("timed", "0")
		timed.TTL = 7
		m.do(create(Session{ID: one}), acquire("locked", one), timed, put("old", "0"), put("gone", "0"),
			put("frozen", "0"),
			set("flagged", "0").keyed("k", 0), Command{Op: OpQuota, Key: "q/", Value: QuotaLimits(10, 0)})
		m.takeCheckpoint()
		m.do(del("gone"), put("frozen", "1"))
		m.Freeze()
		m.do(put("fresh", "1"))
	}
	for i, c := range []struct{ key, value string }{
		{"new", "1"}, {"new", ""}, {"locked", "1"}, {"timed", "1"}, {"old", "1"}, {"gone", "1"}, {"frozen", "2"},
		{"fresh", "2"}, {"flagged", "1"}, {"q/a", "1"}, {"q/b", "too long"}, {"", "1"}, {"\xff", "1"},
		{strings.Repeat("k", MaxKeyBytes), "1"}, {strings.Repeat("k", MaxKeyBytes+1), "1"},
		{"1", ""}, {"2", ""}, {"3", ""}, // by now the idempotency key is forgotten
		{"large", strings.Repeat("v", MaxValueBytes+1)}, {"large", strings.Repeat("v", MaxValueBytes)},
	} {
		plain := EncodeCommand(&Command{Op: OpSet, Key: c.key, Value: []byte(c.value)})
		var results [2][]Result
		for j, encoded := range [][]byte{plain, asOther(c.key, []byte(c.value))} {
			var err error
			if results[j], err = ms[j].Apply(ms[j].Applied()+1, AppendBatch(nil, encoded)); err != nil {
				t.Fatal(err)
			}
		}
		if a, b := fmt.Sprint(results[0]), fmt.Sprint(results[1]); a != b {
			t.Errorf("put %d, of %.10q: %s, as another command %s", i, c.key, a, b)
		}
		if ms[0].digest() != ms[1].digest() || ms[0].TableBytes() != ms[1].TableBytes() {
			t.Fatalf("put %d, of %.10q, leads to another state than as another command", i, c.key)
		}
	}
	if a, b := told[0].String(), told[1].String(); a != b {
		t.Errorf("observers are told\n%s\nand of other commands\n%s", a, b)
	}
}

// Only a valid plain put is taken apart as one, and then it is what any decoder finds.
func FuzzCutPlainPut(f *testing.F) {
	f.Add(EncodeCommand(&Command{Op: OpSet, Key: "a", Value: []byte("1")}))
	f.Add(EncodeCommand(&Command{Op: OpSet, Key: "a", Flags: 1}))
	f.Add(asOther("a", nil))
	f.Add([]byte{4, 0x92, 1, 0xa1, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		key, value, ok := cutPlainPut(b)
		if !ok {
			return
		}
		c, err := DecodeCommand(b)
		if err != nil || c.Op != OpSet || c.Key != string(key) || string(c.Value) != string(value) ||
			c.present()&^hasValue != 0 {
			t.Fatalf("%+v, %v", c, err)
		}
	})
}
