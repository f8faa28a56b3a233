package kv

import (
	"encoding/hex"
	"errors"
	"testing"
)

// What is on disk was written by an older version: records keep their layout.
func TestRecordsKeepTheirLayout(t *testing.T) {
	const session = "11111111-0000-4000-8000-000000000000"
	text := func(s string) string { return hex.EncodeToString([]byte(s)) }
	for _, c := range []struct {
		name string
		got  []byte
		want string
	}{
		{"entry", appendEntry(nil, &Entry{Flags: 1, CreateIndex: 2, ModifyIndex: 300, LockIndex: 4, Value: []byte("v")}), "01" + "01" + "02" + "ac02" + "04" + text("v")},
		{"longer entry", appendEntry(nil, &Entry{CreateIndex: 2, ModifyIndex: 3, TTL: 5, Session: session}), "02" + "00" + "02" + "03" + "00" + "05" + "24" + text(session)},
		{"remembered", appendRemembered(nil, &remembered{key: "k", sum: sum{15: 7}, result: Result{Code: 1, Revision: 2, Count: 3}}),
			"01" + "01" + "02" + "03" + "00000000000000000000000000000007" + text("k")},
		{"remembered with a body", appendRemembered(nil, &remembered{key: "k", result: Result{Code: 1, Revision: 2, Body: "b", Dropped: true}}),
			"02" + "01" + "02" + "00" + "01" + "01" + text("b") + "00000000000000000000000000000000" + text("k")},
		{"time that runs", appendRunning(nil, running{arm: 3, after: 200}), "01" + "03" + "c801"},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("%s: %s, was %s", c.name, got, c.want)
		}
	}
}

// A body that holds something other than an entry is an error, not an entry of zeros.
func TestBodiesWithOtherThanEntriesAreRefused(t *testing.T) {
	good := EncodeEntries(Entry{Key: "a", CreateIndex: 1, ModifyIndex: 2})
	if es, err := DecodeEntries(good); err != nil || len(es) != 1 || es[0].Key != "a" {
		t.Fatalf("%v, %v", es, err)
	}
	for name, entry := range map[string]string{"nothing": "", "an unknown layout": "\x09\x00\x01\x01\x00", "half an entry": "\x01\x00\x01"} {
		body := string(AppendBatch(AppendBatch(nil, []byte("a")), []byte(entry)))
		if es, err := DecodeEntries(body); !errors.Is(err, ErrBody) {
			t.Errorf("%s: %+v, %v", name, es, err)
		}
		if o, err := DecodeOutcomes("\x01\x00" + body); !errors.Is(err, ErrBody) {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
	}
}
