package kv

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func transaction(parts ...Part) Command { return Command{Op: OpTransaction, Parts: parts} }

// story is an outcome in a line.
func story(t *testing.T, r Result) string {
	t.Helper()
	o, err := DecodeOutcomes(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(r.Code, " ", r.Revision)
	for _, x := range o.Results {
		text += fmt.Sprintf("; %d: %s", x.Part, show(*x.Entry, true))
	}
	for _, x := range o.Errors {
		text += fmt.Sprintf("; %d! %s", x.Part, x.What)
	}
	return text
}

func TestATransactionIsOneRevision(t *testing.T) {
	inEveryLayer(t, func(t *testing.T, m *machine, next func()) {
		m.do(create(Session{ID: one}), set("a", "1"), set("b/1", "x"), set("b/2", "y")) // 2 to 5
		next()
		r := m.do(transaction(
			set("a", "2").at(3), Part{Op: OpGet, Key: "a"}, acquire("l", one),
			Part{Op: OpCheckSession, Key: "l", Session: Session{ID: one}},
			Part{Op: OpGetTree, Key: "b/"}, prune("b/"), Part{Op: OpCheckNotExists, Key: "b/1"},
			Part{Op: OpGetOrEmpty, Key: "b/1"},
			Part{Op: OpAdd, Key: "a", Num: 40}, Part{Op: OpRename, Key: "a", NewKey: "c"},
			Part{Op: OpCheckIndex, Key: "c", Index: 6},
			Part{Op: OpCheckValue, Key: "c", Value: []byte("42")}, release("l", one), del("c")))[0]
		want := "done 6; 0: a= f0 c3 m6 l0; 1: a=2 f0 c3 m6 l0; 2: l= f0 c6 m6 l1 s1; 3: l= f0 c6 m6 l1 s1; 4: b/1=x " +
			"f0 c4 m4 l0; 4: b/2=y f0 c5 m5 l0; " +
			"7: b/1= f0 c0 m0 l0; 8: a=42 f0 c3 m6 l0; 9: c= f0 c6 m6 l0; 10: c= f0 c6 m6 l0; 11: c= f0 c6 " +
			"m6 l0; 12: l= f0 c6 m6 l1"
		if got := story(t, r); got != want {
			t.Fatalf("%s\nwant %s", got, want)
		}
		next()
		m.shows("c", "-")
		m.shows("l", "l=r f0 c6 m6 l1")
		if got := story(t, m.do(transaction(Part{Op: OpGet, Key: "l"}))[0]); got != "done 6; 0: l=r f0 c6 m6 l1" {
			t.Fatal(got)
		}
		if got := story(t, m.do(transaction())[0]); got != "done 6" {
			t.Fatal(got)
		}
	})
}

// A session that none can be fails its part as one does that there is not, and hides no other failure. To name none is
// not to name that of a key that nobody has locked.
func TestAPartOfNoSession(t *testing.T) {
	inEveryLayer(t, func(t *testing.T, m *machine, next func()) {
		m.do(set("free", ""))
		next()
		check := func(id string) Part { return Part{Op: OpCheckSession, Key: "free", Session: Session{ID: id}} }
		r := m.do(transaction(acquire("k", ""), release("free", ""), check(""), acquire("k", "X"),
			release("free", "x\n"), check(one),
			Part{Op: OpGet, Key: "k"}))[0]
		want := `condition not met 2; 0! failed to lock key "k", missing session; ` +
			`1! failed to unlock key "free", missing session; ` +
			`2! failed to check the session of key "free", missing session; ` +
			`3! failed to lock key "k", invalid session "X"; ` +
			`4! failed to unlock key "free", invalid session "x\n"; ` +
			`5! failed to check the session of key "free", invalid session "` + one + `"; ` +
			`6! key "k" doesn't exist`
		if got := story(t, r); got != want {
			t.Fatalf("%s\nwant %s", got, want)
		}
	})
}

// A transaction that fails is undone, and every part that fails says why.
func TestAFailedTransactionChangesNothing(t *testing.T) {
	inEveryLayer(t, func(t *testing.T, m *machine, next func()) {
		timed := set("t", "")
		timed.TTL = time.Minute
		m.do(create(Session{ID: one}), create(Session{ID: two}), set("a", "x"), acquire("l", one), timed,
			set("n", "1"), del("n"))
		var told []Changed
		m.Observe(Observer{Changed: func(c Changed) { told = append(told, c) },
			Timed: func(Timed) { told = append(told, Changed{}) }})
		next()
		// Of two equal machines one tries: they must be equal after it, and after all that follows.
		m.do()
		other := newMachine(t, m.exec.limits)
		other.do(create(Session{ID: one}), create(Session{ID: two}), set("a", "x"), acquire("l", one), timed,
			set("n", "1"), del("n"))
		other.do()
		bytes := m.TableBytes()
		dropTTL, newTTL := set("t", "p"), set("new", "")
		newTTL.TTL = time.Second
		r := m.do(transaction(
			set("a", "y"), dropTTL, newTTL, acquire("l2", two), release("l", one), prune("a"), set("n", "2"), del("n"),
			set("a", "").at(99), del("l2").at(1), acquire("l2", one), release("a", one), acquire("q", sessionID(3)),
			Part{Op: OpGet, Key: "a"},
			Part{Op: OpCheckNotExists, Key: "l"}, Part{Op: OpCheckIndex, Key: "l", Index: 1},
			Part{Op: OpCheckSession, Key: "l", Session: Session{ID: one}},
			Part{Op: OpCheckValue, Key: "l", Value: []byte("v")}, Part{Op: OpAdd, Key: "l", Num: 1},
			Part{Op: OpRename, Key: "l2", NewKey: "z"}))[0]
		want := `condition not met 8; 8! failed to set key "a", index is stale; ` +
			`9! failed to delete key "l2", index is stale; ` +
			`10! failed to lock key "l2", lock is already held, or its lock-delay runs; ` +
			`11! failed to unlock key "a", lock isn't held, or is held by another session; ` +
			`12! failed to lock key "q", invalid session "` + sessionID(3) +
			`"; 13! key "a" doesn't exist; 14! key "l" exists; ` +
			`15! failed index check for key "l": its modify index is 9, not 1; ` +
			`16! failed session check for key "l": its session is "", not "` + one + `"; ` +
			`17! failed value check for key "l": it holds another value; 18! failed at key "l": not a number; ` +
			`19! failed to rename key "l2" to "z", one of them is locked`
		if got := story(t, r); got != want {
			t.Fatalf("%s\nwant %s", got, want)
		}
		if m.TableBytes() != bytes || len(told) != 0 {
			t.Errorf("%d bytes in the tables, want %d; the observer was told %v", m.TableBytes(), bytes, told)
		}
		other.do(del("unknown"))
		for _, c := range []Command{set("a", "z"), destroy(one), set("n", "3"), prune("")} {
			if m.digest() != other.digest() {
				t.Fatal("a failed transaction left something")
			}
			m.do(c)
			other.do(c)
		}
		if m.checkpoint.frozen != nil {
			m.stateDB.Merge(m.checkpoint.frozen.Checkpoint())
			if err := m.Checkpointed(); err != nil {
				t.Fatal(err)
			}
		}
		m.takeCheckpoint()
		if m.reopen(); m.digest() != other.digest() {
			t.Fatal("a failed transaction left something for the checkpoint")
		}
	})
}

func TestOutcomesAreBounded(t *testing.T) {
	m := newMachine(t, small)
	big := Command{Op: OpSet, Key: "big", Value: make([]byte, MaxValueBytes/2)}
	m.do(big)
	get := Part{Op: OpGet, Key: "big"}
	if r := m.do(transaction(get, get))[0]; r.Code != CodeDone || len(r.Body) < MaxValueBytes {
		t.Fatalf("%v %d bytes", r.Code, len(r.Body))
	}
	before := m.digest()
	m.want(transaction(set("x", ""), get, get, get), Result{Code: CodeTooLarge, Revision: 2})
	m.do()
	if e := m.get("x"); e != "-" || before == m.digest() {
		t.Error(e)
	}
	m = newMachine(t, small)
	for i := range 2 {
		var cs []Command
		for j := range MaxOutcomes/2 + i {
			cs = append(cs, set(fmt.Sprintf("%d/%d", i, j), ""))
		}
		m.do(cs...)
	}
	m.want(transaction(Part{Op: OpGetTree}), Result{Code: CodeTooLarge, Revision: MaxOutcomes + 2})
}

func TestOutcomesRoundTrip(t *testing.T) {
	for _, o := range []Outcomes{{}, {Results: []Outcome{{3,
		&Entry{Key: "a", Value: []byte("v"), CreateIndex: 1, ModifyIndex: 2, TTL: 5, Session: one}},
		{4, &Entry{Key: "b"}}}},
		{Errors: []PartError{{1, "why"}, {127, ""}}}} {
		body := EncodeOutcomes(o)
		got, err := DecodeOutcomes(body)
		if d := cmp.Diff(o, got); d != "" || err != nil {
			t.Errorf("%v %s", err, d)
		}
		for i := 1; i < len(body); i++ {
			if got, err := DecodeOutcomes(body[:i]); err == nil && len(got.Errors) == len(o.Errors) {
				t.Errorf("%d of %d bytes pass", i, len(body))
			}
		}
	}
	if _, err := DecodeOutcomes("\xff\xff\xff\xff\x7f"); !errors.Is(err, ErrBody) {
		t.Error(err)
	}
	if _, err := DecodeEntries("\x01a"); !errors.Is(err, ErrBody) {
		t.Error(err)
	}
}

func TestObserverSeesOneLastChangeOfARevision(t *testing.T) {
	m := newMachine(t, small)
	var got []string
	m.Observe(Observer{Changed: func(c Changed) {
		text := fmt.Sprint(c.Revision, " ", c.Key, c.Session)
		if c.Entry != nil {
			text += "=" + string(c.Entry.Value)
		}
		if c.Last {
			text += "."
		}
		got = append(got, text)
	}})
	m.do(create(Session{ID: one, Behavior: Delete}), acquire("a", one), acquire("b", one), set("a", "x"),
		set("a", "").at(99), del("zz"),
		transaction(set("c", "1"), set("d", "1"), set("c", "2")), transaction(Part{Op: OpGet, Key: "zz"}, set("c", "")),
		Command{Op: OpRename, Key: "c", NewKey: "e"}, destroy(one), prune(""))
	want := "2 " + one + "., 3 a=v., 4 b=v., 5 a=x., 6 d=1, 6 c=2., 7 c, 7 e=2., 8 a, 8 b, 8 " + one + "., 9 d, 9 e."
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
}
