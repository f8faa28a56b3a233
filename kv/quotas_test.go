package kv

import (
	"fmt"
	"strings"
	"testing"
)

func quotaOf(prefix string, bytes, keys uint64) Command {
	return Command{Op: OpQuota, Key: prefix, Value: QuotaLimits(bytes, keys)}
}

// atLevel raises m to the newest level.
func (m *machine) atLevel() *machine {
	m.do(level(NewestLevel))
	return m
}

// used returns what is used of a quota, as text.
func (m *machine) used(prefix string) string {
	m.t.Helper()
	v, err := m.Snapshot()
	if err != nil {
		m.t.Fatal(err)
	}
	defer v.Close()
	q, there := v.Quota(prefix)
	if !there {
		return "-"
	}
	text := fmt.Sprintf("%d B %d keys", q.UsedBytes, q.UsedKeys)
	if q.Counting {
		text += " so far"
	}
	return text
}

// refused applies c and checks that a quota refuses it as want says, and that nothing has changed.
func (m *machine) refused(c Command, want OverQuota) {
	m.t.Helper()
	was, revision := m.Quotas(), m.Revision()
	r := m.do(c)[0]
	if o, err := DecodeOverQuota(r.Body); r.Code != CodeQuota || err != nil || o != want || m.Revision() != revision {
		m.t.Fatalf("%+v: %+v %+v, %v, revision %d after %d", c, r, o, err, m.Revision(), revision)
	}
	if now := m.Quotas(); fmt.Sprint(now) != fmt.Sprint(was) {
		m.t.Fatalf("%+v: quotas %+v after %+v", c, now, was)
	}
}

// Every command that makes more of something is refused at its quota, and every one that does not is taken.
func TestAQuotaBoundsEveryCommand(t *testing.T) {
	l := small
	l.CountKeys = 100
	m := newMachine(t, l).atLevel()
	m.do(set("t/n", "9"), set("t/v", "1234"), set("o", "12"), quotaOf("t/", 14, 2))
	if got := m.used("t/"); got != "11 B 2 keys" {
		t.Fatal(got)
	}
	bytes := func(more uint64) OverQuota { return OverQuota{Prefix: "t/", Limit: 14, Used: 11, More: more} }
	keys := OverQuota{Prefix: "t/", Keys: true, Limit: 2, Used: 2, More: 1}
	id := sessionID(1)
	m.do(Command{Op: OpSessionCreate, Session: Session{ID: id}})
	m.refused(set("t/v", "12345678"), bytes(4))
	m.refused(set("t/", ""), keys)
	m.refused(set("t/v", "12345678").at(3), bytes(4))
	m.refused(Command{Op: OpSet, Key: "t/v", Value: []byte("12345678"), Lock: LockAcquire, Session: Session{ID: id}},
		bytes(4))
	m.refused(Command{Op: OpAdd, Key: "t/n", Num: 99990}, bytes(4))
	m.refused(Command{Op: OpSet, Mode: ModeEqual | ModeKeep, Key: "t/v", Test: []byte("1234"), Value: []byte("12345678")}, bytes(4))
	m.refused(Command{Op: OpRename, Key: "o", NewKey: "t/o"}, bytes(5))
	m.refused(transaction(set("x", "1"), del("o"), set("t/v", "12345678")), bytes(4))
	m.refused(transaction(set("t/v", "12345"), set("t/n", "1234")), OverQuota{Prefix: "t/", Limit: 14, Used: 12, More: 3})
	for _, c := range []Command{
		set("t/v", "1234567"), set("t/v", "123"), {Op: OpRename, Key: "t/v", NewKey: "t/w"},
		{Op: OpRename, Key: "o", NewKey: "x"}, {Op: OpAdd, Key: "t/n", Num: 1}, {Op: OpSetTTL, Key: "t/n", TTL: 1e9}, transaction(del("t/w"), set("t/z", "12")),
		{Op: OpDelete, Mode: ModeEntry, Key: "t/z"}, prune("t/"),
	} {
		if r := m.do(c)[0]; r.Code != CodeDone {
			t.Fatalf("%+v: %+v", c, r)
		}
	}
	if got := m.used("t/"); got != "0 B 0 keys" {
		t.Fatal(got)
	}
}

// Entries beyond a new quota may stay, shrink and go, and a lock on them is released.
func TestWhatIsOverAQuotaMayShrink(t *testing.T) {
	m := newMachine(t, small).atLevel()
	id := sessionID(1)
	m.do(Command{Op: OpSessionCreate, Session: Session{ID: id}},
		Command{Op: OpSet, Key: "t/a", Value: []byte("123456"), Lock: LockAcquire, Session: Session{ID: id}},
		quotaOf("t/", 1, 1))
	m.want(set("t/a", "654321"), Result{Code: CodeDone, Revision: 4})
	m.refused(set("t/a", "1234567"), OverQuota{Prefix: "t/", Limit: 1, Used: 9, More: 1})
	m.want(Command{Op: OpSet, Key: "t/a", Value: []byte("1234567"), Lock: LockRelease, Session: Session{ID: id}},
		Result{Code: CodeDone, Revision: 5})
	m.want(set("t/a", ""), Result{Code: CodeDone, Revision: 6})
	if got := m.used("t/"); got != "3 B 1 keys" {
		t.Fatal(got)
	}
}

// A key counts for each prefix that it starts with, and the longest that is full is named.
func TestNestedQuotasAllApply(t *testing.T) {
	m := newMachine(t, small).atLevel()
	m.do(quotaOf("t", 0, 3), quotaOf("t/a/", 0, 1), quotaOf("tz", 0, 9))
	m.do(set("t/a/1", ""), set("t/b", ""), set("tt", ""))
	m.refused(set("t/a/2", ""), OverQuota{Prefix: "t/a/", Keys: true, Limit: 1, Used: 1, More: 1})
	m.refused(set("tz", ""), OverQuota{Prefix: "t", Keys: true, Limit: 3, Used: 3, More: 1})
	m.do(set("u", ""))
	if got := m.used("t") + ", " + m.used("t/a/") + ", " + m.used("tz"); got != "10 B 3 keys, 5 B 1 keys, 0 B 0 keys" {
		t.Fatal(got)
	}
	m.want(quotaOf("u", 1, 1), Result{Code: CodeFull, Revision: 5})
}

// A refusal is remembered with its text: a retry after space came gets it again, a new write is done.
func TestARefusalByAQuotaIsRemembered(t *testing.T) {
	m := newMachine(t, small).atLevel()
	prefix := strings.Repeat("p", MaxQuotaPrefixBytes)
	m.do(quotaOf(prefix, 0, 1), set(prefix, ""))
	write := set(prefix+"/", "").keyed("w", 2)
	want := OverQuota{Prefix: prefix, Keys: true, Limit: 1, Used: 1, More: 1}
	m.refused(write, want)
	m.do(del(prefix))
	m.takeCheckpoint()
	m.reopen()
	m.refused(write, want)
	m.do(set(prefix+"/", ""))
	if got := m.used(prefix); got != "513 B 1 keys" {
		t.Fatal(got)
	}
}

// Existing keys are counted in steps. Writes meanwhile count once, before and behind the place that the count has
// reached.
func TestAQuotaCountsWhatIsThereInSteps(t *testing.T) {
	m := newMachine(t, small).atLevel()
	var timed []Timed
	m.Observe(Observer{Timed: func(x Timed) { timed = append(timed, x) }})
	for i := range 7 {
		m.do(set(fmt.Sprintf("t/%d", i), "v"))
	}
	m.takeCheckpoint()
	m.do(quotaOf("t/", 0, 100))
	step := func(arm uint64) Command { return Command{Op: OpQuota, Key: "t/", Arm: arm} }
	want := func(used string) {
		t.Helper()
		if got := m.used("t/"); got != used {
			t.Fatalf("used %s, want %s", got, used)
		}
	}
	want("8 B 2 keys so far")
	m.do(set("t/0", "vv"), set("t/5", "vv"), set("t/00", ""), del("t/6"))
	want("13 B 3 keys so far")
	m.takeCheckpoint()
	m.reopen()
	want("13 B 3 keys so far")
	m.want(step(7), Result{Code: CodeCondition, Revision: m.Revision()})
	m.want(step(1), Result{Code: CodeDone, Revision: m.Revision()})
	want("21 B 5 keys so far")
	m.want(step(2), Result{Code: CodeDone, Revision: m.Revision()})
	want("30 B 7 keys")
	m.want(step(3), Result{Code: CodeCondition, Revision: m.Revision()})
	if len(timed) != 1 || timed[0].Kind != TimedQuota || timed[0].Arm != 1 || timed[0].After == 0 {
		t.Errorf("times %+v", timed)
	}
}

func TestAQuotaEnds(t *testing.T) {
	m := newMachine(t, small).atLevel()
	m.do(quotaOf("t/", 1, 0), quotaOf("t/", 0, 1), set("t/a", "long enough"))
	m.takeCheckpoint()
	m.do(Command{Op: OpQuota, Key: "t/"}, Command{Op: OpQuota, Key: "t/"}, set("t/b", ""))
	m.takeCheckpoint()
	m.reopen()
	if got := m.used("t/"); got != "-" {
		t.Fatal(got)
	}
}

func TestQuotasThatNobodySets(t *testing.T) {
	long := strings.Repeat("p", MaxQuotaPrefixBytes+1)
	for what, c := range map[string]Command{
		"no prefix":      quotaOf("", 1, 1),
		"a long prefix":  quotaOf(long, 1, 1),
		"no limit":       quotaOf("t/", 0, 0),
		"a large limit":  quotaOf("t/", MaxQuota+1, 0),
		"another layout": {Op: OpQuota, Key: "t/", Value: []byte{9, 1, 1}},
		"set and count":  {Op: OpQuota, Key: "t/", Value: QuotaLimits(1, 1), Arm: 1},
		"in a part":      transaction(quotaOf("t/", 1, 1)),
	} {
		if c.Validate() == nil {
			t.Errorf("%s: %+v is valid", what, c)
		}
	}
	m := newMachine(t, small)
	m.want(quotaOf("t/", 1, 1), Result{Code: CodeLevel, Revision: 1})
}

// Each checkpoint has what is used by then.
func TestWhatIsUsedIsInEveryCheckpoint(t *testing.T) {
	m := newMachine(t, small).atLevel()
	m.do(quotaOf("t/", 0, 9))
	for i := range 3 {
		m.takeCheckpoint()
		m.do(set(fmt.Sprint("t/", i), ""))
		before := m.digest()
		m.takeCheckpoint()
		m.reopen()
		if want := fmt.Sprintf("%d B %d keys", 3*(i+1), i+1); m.used("t/") != want || m.digest() != before {
			t.Fatalf("after a restart %s are used, want %s", m.used("t/"), want)
		}
	}
}
