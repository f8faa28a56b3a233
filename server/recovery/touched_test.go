package recovery

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/recovery/merge"
)

const (
	sessionOne = "00000000-0000-4000-8000-000000000001"
	accessor   = "00000000-0000-4000-8000-0000000000bb"
	policyID   = "00000000-0000-4000-8000-0000000000aa"
)

// example is a valid command of an operation, alone or as the only part of another, with what a plan says that it writes
// and what a listing of the log says of it.
type example struct {
	kv.Command
	touches []string
	text    string
}

func examples() map[kv.Op]example {
	key, both := []string{`key "k"`}, []string{`key "k"`, `key "l"`}
	session, token, policy := []string{"session " + sessionOne}, []string{"token " + accessor}, []string{"policy " + policyID}
	upload := []string{"uploaded snapshot " + sessionOne}
	id := kv.Session{ID: sessionOne}
	of := func(c kv.Command, touches []string, text string) example { return example{c, touches, text} }
	on := func(op kv.Op, touches []string, text string) example {
		return of(kv.Command{Op: op, Key: "k"}, touches, text)
	}
	made := kv.PutToken(kv.Token{Accessor: accessor, Secret: kv.HashSecret("s"), Name: "n", Policies: []string{"app"},
		Certificate: "c", TTL: time.Second, Expires: 1e9}, true)
	first := kv.Bootstrap(kv.Token{Accessor: accessor, Secret: kv.HashSecret("s"), Description: "d"}, 0)
	rules := kv.PutPolicy(kv.Policy{ID: policyID, Name: "app", Rules: `key "k" { policy = "read" }`}, true)
	pairs := kv.AppendPair(kv.AppendPair(nil, "k", []byte("1")), "l", []byte("\x1b"))
	return map[kv.Op]example{
		kv.OpSet: of(kv.Command{Op: kv.OpSet, Key: "k", Test: []byte("t"), Mode: kv.ModeEqual | kv.ModeReturn}, key,
			`set if-equal return "k" = "" if it is "t"`),
		kv.OpDelete: of(kv.Command{Op: kv.OpDelete, Key: "k", Mode: kv.ModeReturn}, key, `delete return "k"`),
		kv.OpPrune:  on(kv.OpPrune, []string{`keys with prefix "k"`}, `prune "k"`),
		kv.OpAdd:    of(kv.Command{Op: kv.OpAdd, Key: "k", Num: -2, Mode: kv.ModeCreate}, key, `add create "k" -2`),
		kv.OpRename: of(kv.Command{Op: kv.OpRename, Key: "k", NewKey: "l", Mode: kv.ModeAbsent}, both, `rename if-absent "k" to "l"`),
		kv.OpTransaction: of(kv.Command{Op: kv.OpTransaction, Parts: []kv.Part{{Op: kv.OpGet, Key: "a"}, {Op: kv.OpDelete, Key: "k"}}},
			key, "transaction\n        get \"a\"\n        delete \"k\""),
		kv.OpSequence: of(kv.Command{Op: kv.OpSequence, Fence: "kv/\x1b", Token: 3,
			Parts: []kv.Part{{Op: kv.OpFetch, Key: "a"}, {Op: kv.OpSet, Key: "k"}}}, []string{`fence "kv/\x1b"`, `key "k"`},
			"sequence fence \"kv/\\x1b\" token 3\n        fetch \"a\"\n        set \"k\" = \"\""),
		kv.OpSessionCreate:  of(kv.Command{Op: kv.OpSessionCreate, Session: id}, session, `create-session session "`+sessionOne+`"`),
		kv.OpSessionDestroy: of(kv.Command{Op: kv.OpSessionDestroy, Session: id}, session, `destroy-session session "`+sessionOne+`"`),
		kv.OpSessionRenew:   of(kv.Command{Op: kv.OpSessionRenew, Session: id}, session, `renew-session session "`+sessionOne+`"`),
		kv.OpEndSession:     of(kv.Command{Op: kv.OpEndSession, Session: id}, session, `end-session session "`+sessionOne+`"`),
		kv.OpEndKey:         on(kv.OpEndKey, key, `end-key "k"`),
		kv.OpEndDelay:       on(kv.OpEndDelay, []string{`lock-delay of key "k"`}, `end-lock-delay "k"`),
		kv.OpDropFence:      of(kv.Command{Op: kv.OpDropFence, Fence: "kv/a"}, []string{`fence "kv/a"`}, `drop-fence fence "kv/a" token 0`),
		kv.OpNewEra:         of(kv.Command{Op: kv.OpNewEra, IdemKey: "run"}, []string{"the era of leases' tokens"}, "new-era"),
		kv.OpLevel:          of(kv.Command{Op: kv.OpLevel, Num: 1, Value: []byte("v1")}, []string{"the feature level"}, `feature-level 1 of release "v1"`),
		kv.OpQuota: of(kv.Command{Op: kv.OpQuota, Key: "k", Value: kv.QuotaLimits(1<<20, 7)}, []string{`quota of prefix "k"`},
			`quota "k" 1048576 bytes 7 keys`),
		kv.OpStage:      of(kv.Command{Op: kv.OpStage, Session: id, Num: 1, Value: []byte("x")}, upload, `stage-upload = "x" 1 session "`+sessionOne+`"`),
		kv.OpInstall:    of(kv.Command{Op: kv.OpInstall, Session: id, Num: 1}, []string{everyKey}, `install-upload 1 session "`+sessionOne+`"`),
		kv.OpDropStaged: of(kv.Command{Op: kv.OpDropStaged, Session: id}, upload, `drop-upload session "`+sessionOne+`"`),
		kv.OpPutPolicy:  of(rules, policy, "put-policy if-absent "+policyID+` "app", description "", rules "key \"k\" { policy = \"read\" }"`),
		kv.OpDropPolicy: of(kv.DropPolicy(policyID), policy, "delete-policy "+policyID),
		kv.OpPutToken: of(made, token, "put-token if-absent "+accessor+` "n", description "", policies ["app"], certificate "c", `+
			"expires 1970-01-01T00:00:01Z"),
		kv.OpDropToken: of(kv.DropToken(accessor), token, "delete-token "+accessor),
		kv.OpEndToken:  of(kv.Command{Op: kv.OpEndToken, Value: []byte(accessor)}, token, "end-token "+accessor),
		kv.OpBootstrap: of(first, token, "bootstrap "+accessor+` "", description "d", policies []`),
		kv.OpAppend:    of(kv.Command{Op: kv.OpAppend, Key: "k", Value: []byte("v")}, key, `append "k" = "v"`),
		kv.OpSetTTL:    of(kv.Command{Op: kv.OpSetTTL, Key: "k", TTL: time.Second, Mode: kv.ModePresent}, key, `set-ttl if-present "k" ttl 1000 ms`),
		kv.OpPutAll: of(kv.Command{Op: kv.OpPutAll, Value: pairs, TTL: time.Second, Mode: kv.ModeAbsent}, both,
			"put-all if-absent ttl 1000 ms\n            \"k\" = \"1\"\n            \"l\" = \"\\x1b\""),
		kv.OpFetch:          on(kv.OpFetch, nil, `fetch "k"`),
		kv.OpMeasure:        on(kv.OpMeasure, nil, `measure "k"`),
		kv.OpGet:            on(kv.OpGet, nil, `get "k"`),
		kv.OpGetOrEmpty:     on(kv.OpGetOrEmpty, nil, `get-or-empty "k"`),
		kv.OpGetTree:        on(kv.OpGetTree, nil, `get-tree "k"`),
		kv.OpCheckIndex:     on(kv.OpCheckIndex, nil, `check-index "k" if its index is 0`),
		kv.OpCheckSession:   of(kv.Command{Op: kv.OpCheckSession, Key: "k", Session: kv.Session{ID: "\x1b"}}, nil, `check-session "k" session "\x1b"`),
		kv.OpCheckNotExists: on(kv.OpCheckNotExists, nil, `check-not-exists "k"`),
		kv.OpCheckValue:     of(kv.Command{Op: kv.OpCheckValue, Key: "k", Value: []byte("v")}, nil, `check-value "k" = "v"`),
		kv.OpCheckUnchanged: of(kv.Command{Op: kv.OpCheckUnchanged, Key: "k", HasIndex: true, Index: 7}, nil, `check-unchanged "k" if its index is 7`),
	}
}

// batchOf returns the value of a slot with c, which may be a part only.
func batchOf(t *testing.T, c kv.Command) []byte {
	t.Helper()
	if c.Validate() != nil {
		whole := kv.Command{Op: kv.OpSequence, Parts: []kv.Part{c}}
		if whole.Validate() != nil {
			whole.Op = kv.OpTransaction
		}
		if c = whole; c.Validate() != nil {
			t.Fatal(c.Validate())
		}
	}
	return append([]byte{1}, kv.AppendBatch(nil, kv.EncodeCommand(&c))...)
}

func plannedFor(t *testing.T, value []byte) (names []string) {
	t.Helper()
	got := newTouched()
	if err := got.note(merge.Slot{Entry: multipaxos.Entry{Slot: 9, Value: value}}); err != nil {
		t.Fatal(err)
	}
	for _, x := range got.list() {
		names = append(names, x.Name)
	}
	return names
}

// A plan names what every operation writes.
func TestEveryOperationIsInThePlan(t *testing.T) {
	all := examples()
	for op := range kv.Ops() {
		x, there := all[op]
		if !there || x.Op != op {
			t.Errorf("there is no example of %v", op)
			continue
		}
		if got := plannedFor(t, batchOf(t, x.Command)); !slices.Equal(got, x.touches) {
			t.Errorf("%v: %q, want %q", op, got, x.touches)
		}
	}
	if got := plannedFor(t, []byte{1, 200}); !slices.Equal(got, []string{unreadable}) {
		t.Errorf("a broken batch: %q", got)
	}
	unknown := kv.Command{Op: 200, Key: "k"}
	if got := plannedFor(t, append([]byte{1}, kv.AppendBatch(nil, kv.EncodeCommand(&unknown))...)); !slices.Equal(got,
		[]string{unreadable}) {
		t.Errorf("an unknown operation: %q", got)
	}
}

// A listing of the log shows every operation as text, without an escape sequence of what is in it.
func TestEveryOperationIsShownAsText(t *testing.T) {
	all := examples()
	p := &inspector{}
	for op := range kv.Ops() {
		x := all[op]
		c := p.describe(&x.Command)
		if text := c.text(); text != x.text || strings.Contains(text, "\x1b") {
			t.Errorf("%v: %s\nwant %s", op, text, x.text)
		}
	}
}

// However much is written, a plan says first that the whole store is replaced, and counts what it does not name.
func TestAPlanNamesAReplacementFirst(t *testing.T) {
	got := newTouched()
	for slot := range maxTouched + 5 {
		c := kv.Command{Op: kv.OpSet, Key: fmt.Sprint("k", slot)}
		if slot == maxTouched+2 {
			c = kv.Command{Op: kv.OpInstall, Session: kv.Session{ID: sessionOne}, Num: 1}
		}
		if err := got.note(merge.Slot{Entry: multipaxos.Entry{Slot: multipaxos.Slot(slot + 1), Value: batchOf(t, c)}}); err != nil {
			t.Fatal(err)
		}
	}
	if list := got.list(); len(list) != maxTouched+1 || list[0].Name != everyKey || list[1].Name != `key "k0"` || got.more != 4 {
		t.Errorf("%d names, first %+v, %d more", len(list), list[:2], got.more)
	}
}
