package kv

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"

	"tenure/internal/codec"
)

// Records keep their layout: an older version may have written those on disk.
func TestRecordsKeepTheirLayout(t *testing.T) {
	const session = "11111111-0000-4000-8000-000000000000"
	text := func(s string) string { return hex.EncodeToString([]byte(s)) }
	for _, c := range []struct {
		name string
		got  []byte
		want string
	}{
		{"entry", appendEntry(nil, &Entry{Flags: 1, CreateIndex: 2, ModifyIndex: 300, LockIndex: 4,
			Value: []byte("v")}), "01" + "01" + "02" + "ac02" + "04" + text("v")},
		{"longer entry", appendEntry(nil, &Entry{CreateIndex: 2, ModifyIndex: 3, TTL: 5, Session: session}),
			"02" + "00" + "02" + "03" + "00" + "05" + "24" + text(session)},
		{"remembered", appendRemembered(nil, &remembered{key: "k", sum: sum{15: 7},
			result: Result{Code: 1, Revision: 2, Count: 3}}),
			"01" + "01" + "02" + "03" + "00000000000000000000000000000007" + text("k")},
		{"remembered with a body", appendRemembered(nil,
			&remembered{key: "k", result: Result{Code: 1, Revision: 2, Body: "b", Dropped: true}}),
			"02" + "01" + "02" + "00" + "01" + "01" + text("b") + "00000000000000000000000000000000" + text("k")},
		{"time that runs", appendRunning(nil, running{arm: 3, after: 200}), "01" + "03" + "c801"},
		{"policy", appendPolicy(nil, &Policy{ID: "i", Name: "n", Description: "d", Rules: "r", CreateIndex: 2,
			ModifyIndex: 300}), "01" + "02" + "ac02" + "94" + "a1" + text("i") + "a1" + text("n") + "a1" + text("d") +
			"a1" + text("r")},
		{"members", appendMembers(nil, []byte("m")), "01" + text("m")},
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
	for name, entry := range map[string]string{"nothing": "", "an unknown layout": "\x09\x00\x01\x01\x00",
		"half an entry": "\x01\x00\x01"} {
		body := string(AppendBatch(AppendBatch(nil, []byte("a")), []byte(entry)))
		if es, err := DecodeEntries(body); !errors.Is(err, ErrBody) {
			t.Errorf("%s: %+v, %v", name, es, err)
		}
	}
}

// A record of a layout that this version does not know is damage, not a record of zeros.
func TestUnknownLayoutsAreRefused(t *testing.T) {
	running := appendRunning(nil, running{arm: 3, after: 200})
	session := appendSession(nil, &Session{CreateIndex: 3, LockDelay: 1, Behavior: Release})
	const id = "11111111-0000-4000-8000-000000000000"
	if _, err := decodeRunning("k", running); err != nil {
		t.Fatal(err)
	}
	if _, err := decodeSession(id, session); err != nil {
		t.Fatal(err)
	}
	named := appendSession(nil, &Session{CreateIndex: 3})
	named = append(named[:1], codec.Marshal(&Session{ID: id, CreateIndex: 3})...)
	if x, err := decodeSession(id, named); err == nil {
		t.Errorf("a record that names the session: %+v", x)
	}
	for _, version := range []byte{0, 2, 9} {
		running[0], session[0] = version, version
		if x, err := decodeRunning("k", running); err == nil {
			t.Errorf("version %d: %+v", version, x)
		}
		if x, err := decodeSession(id, session); err == nil {
			t.Errorf("version %d: %+v", version, x)
		}
	}
}

// Replicas are compared by their digests: each register counts.
func TestTheDigestTellsRegistersApart(t *testing.T) {
	seen := map[[32]byte]string{}
	for name, change := range map[string]func(*registers){
		"nothing":     func(*registers) {},
		"a session":   func(r *registers) { r.sessions.byID.Set("s", &Session{CreateIndex: 2}) },
		"its TTL":     func(r *registers) { r.sessions.byID.Set("s", &Session{CreateIndex: 2, TTL: 1}) },
		"a lock":      func(r *registers) { r.sessions.held.Set("s\x00k", struct{}{}) },
		"an expiry":   func(r *registers) { r.times.expiry.Set("k", running{arm: 1, after: 2}) },
		"its end":     func(r *registers) { r.times.expiry.Set("k", running{arm: 1, after: 3}) },
		"a delay":     func(r *registers) { r.times.delays.Set("k", running{arm: 1, after: 2}) },
		"its arm":     func(r *registers) { r.times.delays.Set("k", running{arm: 2, after: 2}) },
		"a fence":     func(r *registers) { r.fences.largest.Set("lease/n", 1) },
		"its token":   func(r *registers) { r.fences.largest.Set("lease/n", 2) },
		"tombstone":   func(r *registers) { r.tombstones.byKey.Set("k", 3) },
		"members":     func(r *registers) { r.members.record = []byte("m") },
		"a policy":    func(r *registers) { r.acl.putPolicy(&Policy{ID: "p", Name: "n"}) },
		"its rules":   func(r *registers) { r.acl.putPolicy(&Policy{ID: "p", Name: "n", Rules: "r"}) },
		"a token":     func(r *registers) { r.acl.put(&Token{Accessor: "t"}) },
		"its secret":  func(r *registers) { r.acl.put(&Token{Accessor: "t", Secret: SecretHash{1}}) },
		"others":      func(r *registers) { r.members.record = []byte("n") },
		"a newer one": func(r *registers) { r.tombstones.byKey.Set("k", 4) },
	} {
		s, err := Open(NewMemStateDB(), DefaultLimits)
		if err != nil {
			t.Fatal(err)
		}
		change(&s.exec.reg)
		h := sha256.New()
		s.exec.reg.digest(h)
		sum := [32]byte(h.Sum(nil))
		if other, same := seen[sum]; same {
			t.Errorf("%s looks like %s", name, other)
		}
		seen[sum] = name
	}
}
