package kv

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func transaction(parts ...Part) Command { return Command{Op: OpTransaction, Parts: parts} }

// story is the result of a transaction in a line: of each part that tells of something, or failed.
func story(t *testing.T, r Result) string {
	t.Helper()
	text := fmt.Sprint(r.Code, " ", r.Revision)
	steps := StepsOf(&r)
	for i := 0; steps.rest != ""; i++ {
		x, err := steps.Next()
		if err != nil {
			t.Fatal(err)
		}
		told, err := DecodeEntries(x.Body)
		if err != nil {
			t.Fatal(err)
		}
		if x.Code != CodeDone {
			text += fmt.Sprintf("; %d! %v", i, x.Code)
		}
		for _, e := range told {
			text += fmt.Sprintf("; %d: %s", i, show(e, true))
		}
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
			"8: a=42 f0 c3 m6 l0; 9: c= f0 c6 m6 l0; 10: c= f0 c6 m6 l0; 11: c= f0 c6 " +
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
		want := "condition not met 2; 0! no such session; 1! no such session; 2! no such session; 3! no such session; " +
			"4! no such session; 5! no such session; 6! no such key"
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
		want := "condition not met 8; 8! condition not met; 9! condition not met; 10! condition not met; " +
			"11! condition not met; 12! no such session; 13! no such key; 14! it exists; " +
			"15! condition not met; 15: l= f0 c5 m9 l1; 16! condition not met; 16: l= f0 c5 m9 l1; " +
			"17! condition not met; 17: l= f0 c5 m9 l1; 18! not a number; 19! condition not met"
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

func TestTheResultOfATransactionIsBounded(t *testing.T) {
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
		for j := range MaxListed/2 + i {
			cs = append(cs, set(fmt.Sprintf("%d/%d", i, j), ""))
		}
		m.do(cs...)
	}
	m.want(transaction(Part{Op: OpGetTree}), Result{Code: CodeTooLarge, Revision: MaxListed + 2})

	// After a failure trees are not read: a client could have so many read for nothing.
	failed := m.do(transaction(Part{Op: OpGetTree, Key: "none"}, Part{Op: OpGet, Key: "none"}, Part{Op: OpGetTree}))[0]
	if got := story(t, failed); got != fmt.Sprintf("condition not met %d; 1! no such key", MaxListed+2) {
		t.Error(got)
	}
}

// A transaction that lacks only space in a table is refused for that.
func TestATransactionThatLacksSpaceInATable(t *testing.T) {
	m := newMachine(t, small)
	m.do(create(Session{ID: one}))
	lock := func(i int) Part { return acquire(fmt.Sprint("k", i), one) }
	for i := range small.Locks {
		m.do(transaction(lock(i)))
	}
	revision := m.Revision()
	m.want(transaction(set("x", ""), lock(small.Locks), lock(small.Locks+1)), Result{Code: CodeFull, Revision: revision})
	if got := m.do(transaction(lock(small.Locks), Part{Op: OpGet, Key: "none"}))[0]; got.Code != CodeCondition {
		t.Error(got)
	}
}

// What a transaction would have told is not too large if it fails: it tells why.
func TestAFailedTransactionIsNotTooLarge(t *testing.T) {
	m := newMachine(t, small)
	m.do(Command{Op: OpSet, Key: "big", Value: make([]byte, MaxValueBytes/2)})
	get := Part{Op: OpGet, Key: "big"}
	got := story(t, m.do(transaction(get, Part{Op: OpCheckIndex, Key: "big", Index: 9}, get, get, get))[0])
	if want := "condition not met 2; 1! condition not met; 1: big= f0 c2 m2 l0"; got != want {
		t.Errorf("%s\nwant %s", got, want)
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
		Command{Op: OpRename, Key: "c", NewKey: "e"}, destroy(one), prune(""), level(NewestLevel),
		Command{Op: OpPutAll, Value: AppendPair(AppendPair(AppendPair(nil, "k", nil), "l", nil), "k", []byte("2"))})
	want := "2 " + one + "., 3 a=v., 4 b=v., 5 a=x., 6 d=1, 6 c=2., 7 c, 7 e=2., 8 a, 8 b, 8 " + one + "., 9 d, 9 e., 10 l=, 10 k=2."
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
}

// What goes through the same keys again and again is refused: it would keep the log busy for seconds.
func TestRangesThatOverlap(t *testing.T) {
	for name, c := range map[string]struct {
		prefixes []string
		valid    bool
	}{
		"four times the same":     {[]string{"a/", "a/", "a/", "a/"}, true},
		"five times the same":     {[]string{"a/", "a/", "b/", "a/", "a/", "a/"}, false},
		"one in the other":        {[]string{"", "a", "a/b", "a/b/c", "a/b/c/d"}, false},
		"side by side":            {[]string{"", "a/", "b/", "c/", "d/", "e/", "f/"}, true},
		"side by side, read once": {[]string{"a/1", "a/2", "a/3", "a/4", "a/5", "a"}, true},
	} {
		for i, op := range []Op{OpPrune, OpGetTree} {
			tx, seq := Command{Op: OpTransaction}, Command{Op: OpSequence}
			for _, p := range c.prefixes {
				tx.Parts = append(tx.Parts, Part{Op: op, Key: p})
				seq.Parts = append(seq.Parts, Part{Op: OpPrune, Key: p})
			}
			if err := tx.Validate(); (err == nil) != c.valid {
				t.Errorf("%s, %v: %v", name, op, err)
			}
			if err := seq.Validate(); i == 0 && (err == nil) != c.valid {
				t.Errorf("%s, as a sequence: %v", name, err)
			}
		}
	}
	many := Command{Op: OpSequence}
	for i := range MaxParts + 1 {
		many.Parts = append(many.Parts, Part{Op: OpPrune, Key: fmt.Sprint(i, "/")})
	}
	if many.Validate() == nil {
		t.Error("a sequence deletes more prefixes than a transaction may")
	}
}
