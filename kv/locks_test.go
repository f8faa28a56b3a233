package kv

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

var (
	one, two = sessionID(1), sessionID(2)
	missing  = func(revision uint64) Result { return Result{Code: CodeMissing, Revision: revision} }
)

func create(s Session) Command  { return Command{Op: OpSessionCreate, Session: s} }
func destroy(id string) Command { return Command{Op: OpSessionDestroy, Session: Session{ID: id}} }
func created(revision uint64, id string) Result {
	return Result{Code: CodeDone, Revision: revision, Body: id}
}

func acquire(key, session string) Command {
	return Command{Op: OpSet, Key: key, Value: []byte("v"), Lock: LockAcquire, Session: Session{ID: session}}
}

func release(key, session string) Command {
	return Command{Op: OpSet, Key: key, Value: []byte("r"), Lock: LockRelease, Session: Session{ID: session}}
}

// shows checks what a key looks like.
func (m *machine) shows(key, want string) {
	m.t.Helper()
	if got := m.get(key); got != want {
		m.t.Fatalf("%s, want %s", got, want)
	}
}

func TestALockIsHeldByOneSession(t *testing.T) {
	inEveryLayer(t, func(t *testing.T, m *machine, next func()) {
		m.want(acquire("a", one), Result{Code: CodeNoSession, Revision: 1})
		m.want(create(Session{ID: one}), created(2, one))
		m.want(create(Session{ID: one}), Result{Code: CodeExists, Revision: 2})
		m.want(create(Session{ID: two}), created(3, two))
		next()
		m.want(release("a", one), refused(3)) // absent
		m.want(acquire("a", one), done(4))
		next()
		m.shows("a", "a=v f0 c4 m4 l1 s1")
		m.want(acquire("a", two), refused(4))
		m.want(release("a", two), refused(4))
		m.want(acquire("a", one), done(5)) // again by the holder: not a new lock
		m.shows("a", "a=v f0 c4 m5 l1 s1")
		next()
		m.want(set("a", "p"), done(6)) // a lock is advisory, and stays
		m.shows("a", "a=p f0 c4 m6 l1 s1")
		m.want(set("a", "q").at(6), done(7))
		next()
		m.shows("a", "a=q f0 c4 m7 l1 s1")
		m.want(release("a", one), done(8))
		m.shows("a", "a=r f0 c4 m8 l1")
		next()
		m.want(acquire("a", two), done(9))
		m.shows("a", "a=v f0 c4 m9 l2 s2")
		next()
		m.want(del("a"), deleted(10, 1))
		m.want(set("a", "n"), done(11))
		m.shows("a", "a=n f0 c11 m11 l0")
		next()
		m.want(destroy(two), done(12)) // it holds nothing any more
		m.shows("a", "a=n f0 c11 m11 l0")
	})
}

func TestTheEndOfASession(t *testing.T) {
	for _, behavior := range []Behavior{Release, Delete} {
		for _, delay := range []time.Duration{0, time.Second} {
			t.Run(fmt.Sprint(behavior, delay), func(t *testing.T) {
				inEveryLayer(t, func(t *testing.T, m *machine, next func()) {
					m.do(create(Session{ID: one, Behavior: behavior, LockDelay: delay}), create(Session{ID: two}))
					m.do(acquire("a", one), acquire("b", two), acquire("c", one)) // 4, 5, 6
					next()
					m.want(destroy(one), deleted(7, 2*uint64(behavior)))
					next()
					if behavior == Release {
						m.shows("a", "a=v f0 c4 m7 l1")
						m.shows("c", "c=v f0 c6 m7 l1")
					} else {
						m.shows("a", "-")
						m.shows("c", "-")
					}
					m.shows("b", "b=v f0 c5 m5 l1 s2")
					m.want(destroy(one), done(7))
					if _, lives := m.Session(one); lives || m.SessionsIndex() != 7 {
						t.Fatal("the session is still there")
					}
					if delay == 0 {
						m.want(acquire("a", two), done(8))
						return
					}
					m.want(acquire("a", two), refused(7))
					m.want(Command{Op: OpEndDelay, Key: "a", Arm: 6}, refused(7))
					m.want(acquire("a", two), refused(7))
					next()
					m.want(Command{Op: OpEndDelay, Key: "a", Arm: 7}, done(7))
					next()
					m.want(acquire("a", two), done(8))
					m.want(acquire("c", two), refused(8))
				})
			})
		}
	}
}

func TestOnlyTheNewestArmEnds(t *testing.T) {
	inEveryLayer(t, func(t *testing.T, m *machine, next func()) {
		end := func(arm uint64) Command { return Command{Op: OpEndSession, Session: Session{ID: one}, Arm: arm} }
		m.do(create(Session{ID: one, TTL: time.Second}))
		m.want(Command{Op: OpSessionRenew, Session: Session{ID: one}}, done(2))
		m.want(Command{Op: OpSessionRenew, Session: Session{ID: two}}, Result{Code: CodeNoSession, Revision: 2})
		next()
		m.want(end(0), refused(2))
		expire := set("a", "x")
		expire.TTL = time.Minute
		m.want(expire, done(3))
		m.shows("a", "a=x f0 c3 m3 l0 t1m0s")
		next()
		m.want(expire, done(4))
		m.want(Command{Op: OpEndKey, Key: "a", Arm: 3}, refused(4))
		next()
		m.want(Command{Op: OpEndKey, Key: "a", Arm: 4}, deleted(5, 1))
		m.want(Command{Op: OpEndKey, Key: "a", Arm: 4}, refused(5))
		m.want(end(1), done(6))
		m.want(end(1), refused(6))
		m.do(create(Session{ID: two})) // without a TTL it never expires
		m.want(Command{Op: OpEndSession, Session: Session{ID: two}}, refused(7))
	})
}

func TestWhatKeepsATTL(t *testing.T) {
	inEveryLayer(t, func(t *testing.T, m *machine, next func()) {
		timed := set("a", "1")
		timed.TTL = time.Minute
		m.do(create(Session{ID: one}), timed)
		next()
		m.want(Command{Op: OpAdd, Key: "a", Num: 4}, Result{Code: CodeDone, Revision: 4, Body: "5"})
		m.shows("a", "a=5 f0 c3 m4 l0 t1m0s")
		next()
		m.want(Command{Op: OpSet, Mode: ModeEqual | ModeKeep, Key: "a", Test: []byte("5"), Value: []byte("6")},
			Result{Code: CodeDone, Revision: 5, Count: 1})
		locked := acquire("a", one)
		locked.TTL = time.Second
		m.want(locked, done(6))
		next()
		m.want(Command{Op: OpEndKey, Key: "a", Arm: 3}, refused(6))
		m.want(destroy(one), done(7))
		m.shows("a", "a=v f0 c3 m7 l1 t1s") // from revision 6 on
		next()
		m.want(Command{Op: OpRename, Key: "a", NewKey: "b"}, done(8))
		m.want(Command{Op: OpEndKey, Key: "a", Arm: 6}, refused(8))
		next()
		m.want(set("b", "p"), done(9))
		m.shows("b", "b=p f0 c8 m9 l0")
		m.want(Command{Op: OpEndKey, Key: "b", Arm: 8}, refused(9))
		m.want(Command{Op: OpSetTTL, Key: "b", TTL: time.Second}, Result{Code: CodeDone, Revision: 10, Count: 1})
		next()
		m.want(Command{Op: OpSetTTL, Key: "b"}, Result{Code: CodeDone, Revision: 11, Count: 1})
		m.want(Command{Op: OpEndKey, Key: "b", Arm: 10}, refused(11))
	})
}

func TestLimitsOfTheRegisters(t *testing.T) {
	l := small
	l.Sessions, l.Locks, l.ExpiringKeys, l.Fences = 2, 2, 1, 1
	m := newMachine(t, l)
	full := func(revision uint64) Result { return Result{Code: CodeFull, Revision: revision} }
	m.do(create(Session{ID: one, LockDelay: time.Second}), create(Session{ID: two}))
	m.want(create(Session{ID: sessionID(3)}), full(3))
	m.do(acquire("a", one), acquire("b", one))
	m.want(acquire("c", two), full(5))
	m.want(acquire("a", one), done(6)) // no new lock
	m.do(destroy(one))                 // its locks become delays, which take their space
	m.want(acquire("c", two), full(7))
	m.do(Command{Op: OpEndDelay, Key: "b", Arm: 7})
	m.want(acquire("c", two), done(8))
	timed := set("t", "")
	timed.TTL = time.Second
	m.want(timed, done(9))
	m.want(timed, done(10))
	timed.Key = "u"
	m.want(timed, full(10))
	m.want(Command{Op: OpSetTTL, Key: "a", TTL: time.Second}, full(10))
	m.want(Command{Op: OpRename, Key: "t", NewKey: "u"}, done(11))
	m.want(set("a", "").under("kv/x", 1), done(12))
	m.want(set("a", "").under("kv/y", 1), full(12))
}

func (c Command) under(fence string, token uint64) Command {
	c.Fence, c.Token = fence, token
	return c
}

func TestFencesRefuseOlderTokens(t *testing.T) {
	inEveryLayer(t, func(t *testing.T, m *machine, next func()) {
		fencedOff := func(revision uint64) Result { return Result{Code: CodeFenced, Revision: revision} }
		m.want(set("a", "1").under("lease/x", 5), done(2))
		next()
		m.want(set("a", "2").under("lease/x", 4), fencedOff(2))
		m.want(set("a", "2").under("lease/x", 5), done(3))
		m.want(set("a", "3").at(2).under("lease/x", 7), refused(3)) // the condition fails, the token counts
		next()
		m.want(del("a").under("lease/x", 6), fencedOff(3))
		m.want(set("b", "1").under("kv/x", 1), done(4))
		m.want(Command{Op: OpTransaction}.under("lease/x", 6), fencedOff(4))
		first := set("c", "1").under("lease/x", 8).keyed("w", 4)
		m.want(first, done(5))
		m.want(set("c", "2").under("lease/x", 9), done(6))
		next()
		m.want(first, done(5)) // a retry gets its first result
		m.want(Command{Op: OpDropFence, Fence: "lease/x"}, done(6))
		m.want(Command{Op: OpDropFence, Fence: "lease/unknown"}, done(6))
		next()
		m.want(set("c", "3").under("lease/y", 8), fencedOff(6)) // the floor is for every name of the kind
		m.want(set("c", "3").under("kv/y", 0), done(7))
		m.want(set("c", "3").under("lease/y", 9), done(8))
	})
}

// An operator can set the floor of a kind after a fence with an absurd token was dropped. The state must have the
// feature level for it.
func TestAFloorCanBeSet(t *testing.T) {
	const most = 1<<64 - 1
	set0 := Command{Op: OpDropFence, Fence: "kv/x", HasIndex: true, Index: 7}
	m := newMachine(t, small)
	m.want(set0, Result{Code: CodeLevel, Revision: 1})
	m = newMachine(t, small).atLevel()
	m.want(set("a", "1").under("kv/x", most), done(2))
	m.want(set("a", "1").under("lease/x", most), done(3))
	m.do(Command{Op: OpDropFence, Fence: "kv/x"}, Command{Op: OpDropFence, Fence: "lease/x"})
	m.want(set("a", "1").under("kv/y", 8), Result{Code: CodeFenced, Revision: 3})
	m.want(set0, done(3)) // also if the name is not known any more
	m.want(set("a", "1").under("kv/y", 8), done(4))
	m.want(set("a", "1").under("kv/z", 6), Result{Code: CodeFenced, Revision: 4})
	m.want(set("a", "1").under("lease/y", 8), Result{Code: CodeFenced, Revision: 4}) // the other kind
	m.takeCheckpoint()
	m.reopen()
	m.want(set("a", "1").under("kv/z", 6), Result{Code: CodeFenced, Revision: 4})
	m.want(set("a", "1").under("kv/x", most), done(5))
	m.want(set0, done(5)) // forgets the name, and the floor does not rise
	m.want(set("a", "1").under("kv/x", 7), done(6))
}

// A session's lock that is not there is damage, not something to pass over.
func TestDamagedLocksAreFound(t *testing.T) {
	m := newMachine(t, small)
	m.do(create(Session{ID: one}), acquire("a", one))
	m.takeCheckpoint()
	m.stateDB.records.Set(recordKey(KindData, []byte("a")), appendEntry(nil, &Entry{CreateIndex: 1, ModifyIndex: 1}))
	m.reopen()
	if _, err := m.Apply(2, batchOf(destroy(one))); !errors.Is(err, ErrDamaged) {
		t.Errorf("%v", err)
	}
	for kind, key := range map[RecordKind]string{KindSession: one, KindHeld: heldKey(one, "a")} {
		b := newMachine(t, small)
		b.do(create(Session{ID: one}), acquire("a", one))
		b.takeCheckpoint()
		b.stateDB.records.Delete(recordKey(kind, []byte(key)))
		if _, err := Open(b.stateDB, small); !errors.Is(err, ErrDamaged) {
			t.Errorf("kind %d without its record: %v", kind, err)
		}
	}
}
