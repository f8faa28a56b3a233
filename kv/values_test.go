package kv

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAdd(t *testing.T) {
	for _, c := range []struct {
		value string
		num   int64
		want  string // empty: not a number
	}{
		{"41", 1, "42"}, {"-5", 5, "0"}, {"+7", 1, ""}, {"007", 1, ""}, {"00", 1, ""}, {"-0", 1, ""}, {"-007", 1, ""},
		{"0", -9223372036854775808, "-9223372036854775808"},
		{"9223372036854775807", 0, "9223372036854775807"}, {"9223372036854775807", 1, ""},
		{"-1", -9223372036854775808, ""},
		{"9223372036854775808", 0, ""}, {"", 1, ""}, {" 1", 1, ""}, {"1 ", 1, ""}, {"1_0", 1, ""}, {"0x1", 1, ""},
		{"1.0", 1, ""}, {"--1", 1, ""}, {"-", 1, ""}, {"1e3", 1, ""}, {"1\x002", 1, ""},
		{"-9223372036854775808", 1, "-9223372036854775807"}, {"-9223372036854775809", 1, ""},
		{strings.Repeat("9", 30), 1, ""},
	} {
		m := newMachine(t, small)
		flagged := set("a", c.value)
		flagged.Flags = 3
		m.do(flagged)
		want := Result{Code: CodeNotNumber, Revision: 2}
		if _, number := ParseDecimal([]byte(c.value)); number {
			want.Count = 1
		}
		if c.want != "" {
			want = Result{Code: CodeDone, Revision: 3, Body: c.want}
		}
		m.want(Command{Op: OpAdd, Key: "a", Num: c.num}, want)
		if c.want != "" {
			m.shows("a", "a="+c.want+" f3 c2 m3 l0")
		}
	}
	m := leveled(t, small)
	m.want(Command{Op: OpAdd, Key: "a", Num: 1}, missing(1))
	m.want(Command{Op: OpAdd, Key: "a", Num: 7, Mode: ModeCreate}, Result{Code: CodeDone, Revision: 2, Body: "7"})
}

func TestSetIfEqualRenameDeleteAndTTL(t *testing.T) {
	inEveryLayer(t, func(t *testing.T, m *machine, next func()) {
		tas := func(test, value string) Command {
			return Command{Op: OpSet, Mode: ModeEqual | ModeKeep | ModeReturn, Key: "a", Test: []byte(test), Value: []byte(value)}
		}
		rename := func(from, to string) Command { return Command{Op: OpRename, Key: from, NewKey: to} }
		m.want(tas("", "x"), refused(1))
		m.want(rename("a", "b"), missing(1))
		m.want(rename("a", "a"), missing(1))
		m.want(Command{Op: OpDelete, Mode: ModeEntry, Key: "a"}, done(1))
		m.want(Command{Op: OpSetTTL, Key: "a", TTL: 1}, missing(1))
		m.do(set("a", ""), set("c", "c"), create(Session{ID: one})) // 2, 3, 4
		next()
		m.want(tas("x", "y"), Result{Code: CodeCondition, Revision: 4, Count: 1})
		m.want(tas("", "new"), Result{Code: CodeDone, Revision: 5, Count: 1})
		next()
		m.want(tas("", "y"), Result{Code: CodeCondition, Revision: 5, Count: 1, Body: "new"})
		m.want(rename("a", "a"), done(5))
		m.want(rename("a", "c"), done(6))
		next()
		m.shows("a", "-")
		m.shows("c", "c=new f0 c3 m6 l0")
		m.want(acquire("a", one), done(7))
		next()
		m.want(rename("a", "z"), refused(7))
		m.want(rename("c", "a"), refused(7))
		m.want(rename("a", "a"), done(7))
		m.do(Command{Op: OpSetTTL, Key: "a", TTL: time.Second})
		next()
		r := m.do(Command{Op: OpDelete, Mode: ModeEntry, Key: "a"}.keyed("w", 0))[0]
		got, err := DecodeEntries(r.Body)
		want := []Entry{{Key: "a", Value: []byte("v"), CreateIndex: 7, ModifyIndex: 8, LockIndex: 1, Session: one,
			TTL: time.Second}}
		if d := cmp.Diff(want, got); d != "" || err != nil || r.Count != 1 || r.Revision != 9 {
			t.Fatalf("%+v %v %s", r, err, d)
		}
		next()
		m.want(Command{Op: OpDelete, Mode: ModeEntry, Key: "a"}.keyed("w", 0), r)
		m.do(destroy(one))
		m.want(acquire("a", one), Result{Code: CodeNoSession, Revision: 10})
	})
}

// A large body is not remembered, and a retry is told so.
func TestLargeBodiesAreNotRemembered(t *testing.T) {
	inEveryLayer(t, func(t *testing.T, m *machine, next func()) {
		value := strings.Repeat("v", MaxRememberedBody)
		m.do(set("a", value), set("b", value+"v"))
		ask := func(key, idem string) Command {
			return Command{Op: OpSet, Mode: ModeEqual | ModeReturn, Key: key}.keyed(idem, 0)
		}
		for range 2 {
			m.want(ask("a", "w1"), Result{Code: CodeCondition, Revision: 3, Count: 1, Body: value})
			next()
		}
		m.want(ask("b", "w2"), Result{Code: CodeCondition, Revision: 3, Count: 1, Body: value + "v"})
		next()
		m.want(ask("b", "w2"), Result{Code: CodeCondition, Revision: 3, Count: 1, Dropped: true})
	})
}

// The node that receives a request for a session draws its ID: a retry through another node is the same request.
func TestARetriedCreateIsOneSession(t *testing.T) {
	inEveryLayer(t, func(t *testing.T, m *machine, next func()) {
		m.want(create(Session{ID: one, Name: "n"}).keyed("w", 0), created(2, one))
		next()
		m.want(create(Session{ID: two, Name: "n"}).keyed("w", 0), created(2, one))
		m.want(create(Session{ID: one, Name: "o"}).keyed("w", 0), Result{Code: CodeKeyReused, Revision: 2})
		if _, lives := m.Session(two); lives {
			t.Fatal("the retry created another session")
		}
	})
}

func TestDeletionsAreRemembered(t *testing.T) {
	inEveryLayer(t, func(t *testing.T, m *machine, next func()) {
		deleted := func(prefix string, want uint64) {
			t.Helper()
			v, err := m.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			if got := v.Deleted(prefix); got != want {
				t.Fatalf("deleted under %q at %d, want %d", prefix, got, want)
			}
		}
		m.l.Tombstones = 3
		m.reopen()
		deleted("", 0)
		m.do(set("a/1", ""), set("a/2", ""), set("b", ""), set("c", ""), set("d", "")) // 2 to 6
		m.do(del("a/1"), del("b"), del("a/2"))                                         // 7, 8, 9
		next()
		deleted("", 9)
		deleted("a/", 9)
		deleted("a/1", 7)
		deleted("b", 8)
		deleted("c", 0)
		m.do(set("b", ""), del("b")) // 11
		next()
		deleted("b", 11)
		deleted("c", 0)
		m.do(del("c")) // the one of revision 7 is compacted
		next()
		deleted("a/1", 7)
		deleted("zz", 7)
		deleted("a/", 9)
		m.do(set("e/1", ""), set("e/2", ""), set("e/3", ""), set("e/4", ""), prune("e/"))
		next()
		deleted("zz", 17)
		deleted("a/", 17)
		m.do(del("d"))
		next()
		deleted("", 18)
		deleted("a", 17)
	})
}
