package kv

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

const (
	uploadA = "00000000-0000-4000-8000-00000000000a"
	uploadB = "00000000-0000-4000-8000-00000000000b"
)

func stage(id string, n int, piece []byte) Command {
	return Command{Op: OpStage, Session: Session{ID: id}, Num: int64(n), Value: piece}
}

func install(id string, pieces int) Command {
	return Command{Op: OpInstall, Session: Session{ID: id}, Num: int64(pieces)}
}

// piecesOf returns the pieces of the state of m, which is checkpointed for it.
func piecesOf(t testing.TB, m *machine) [][]byte {
	t.Helper()
	m.takeCheckpoint()
	p, err := NewPieces(m.stateDB.slot, m.stateDB.meta)
	if err != nil {
		t.Fatal(err)
	}
	m.stateDB.records.Scan(func(key string, record []byte) bool {
		err = p.Add(Change{Kind: RecordKind(key[0]), Key: []byte(key[1:]), Value: record})
		return err == nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return p.List()
}

// stageAll stages the pieces as so many slots.
func stageAll(m *machine, id string, pieces [][]byte) {
	m.t.Helper()
	for n, piece := range pieces {
		if r := m.do(stage(id, n, piece))[0]; r.Code != CodeDone || r.Count != uint64(n+1) {
			m.t.Fatalf("piece %d: %+v", n, r)
		}
	}
}

// backedUp is a state with everything that an upload carries, as it was some time ago.
func backedUp(t testing.TB) *machine {
	m := newMachine(t, DefaultLimits)
	m.do(level(1), create(Session{ID: sid("s1"), TTL: time.Minute, LockDelay: time.Second}),
		create(Session{ID: sid("s2"), TTL: time.Minute, LockDelay: 10 * time.Second}))
	m.do(set("a", "1"), set("b", "2"), Command{Op: OpSet, Key: "ttl", Value: []byte("x"), TTL: time.Hour},
		Command{Op: OpSet, Key: "locked", Lock: LockAcquire, Session: Session{ID: sid("s1")}},
		Command{Op: OpSet, Key: "delayed", Lock: LockAcquire, Session: Session{ID: sid("s2")}},
		set("f", "1").under("kv/f", 7), Command{Op: OpNewEra, IdemKey: "run", Base: 1})
	m.do(Command{Op: OpSessionDestroy, Session: Session{ID: sid("s2")}})
	return m
}

// later is what became of it since.
func later(t testing.TB, m *machine) *machine {
	m.do(set("b", "3"), set("c", "4"), Command{Op: OpDelete, Key: "a"}, set("f", "2").under("kv/f", 9).keyed("w", 5),
		Command{Op: OpSessionDestroy, Session: Session{ID: sid("s1")}}, create(Session{ID: sid("s3"), TTL: time.Minute}),
		Command{Op: OpSessionRenew, Session: Session{ID: sid("s3")}},
		Command{Op: OpSet, Key: "mine", Lock: LockAcquire, Session: Session{ID: sid("s3")}},
		Command{Op: OpSet, Key: "short", TTL: time.Second})
	return m
}

func TestInstall(t *testing.T) {
	for name, checkpoint := range map[string]func(*machine){
		"in memory": func(*machine) {},
		"after a restart in the middle": func(m *machine) {
			m.takeCheckpoint()
			before := m.digest()
			m.reopen()
			if m.digest() != before {
				t.Error("the checkpoint of an upload changed the state")
			}
		},
		"frozen": func(m *machine) { m.Freeze() },
	} {
		t.Run(name, func(t *testing.T) {
			m := backedUp(t)
			pieces := piecesOf(t, m)
			later(t, m)
			stageAll(m, uploadA, pieces)
			checkpoint(m)
			before := m.Revision()
			r := m.do(install(uploadA, len(pieces)).keyed("i", before))[0]
			want := before + InstallRevisions + 1
			if r.Code != CodeDone || r.Revision != want || r.Count != 6 || m.Revision() != want {
				t.Fatalf("%+v at revision %d", r, m.Revision())
			}
			checkInstalled(t, m, want)
			m.want(install(uploadA, len(pieces)).keyed("i", before), r) // the retry of a client that got no answer
			if m.checkpoint.frozen != nil {
				m.stateDB.Merge(m.checkpoint.frozen.Checkpoint())
				if err := m.Checkpointed(); err != nil {
					t.Fatal(err)
				}
			}
			digest := m.digest()
			m.takeCheckpoint()
			m.reopen()
			if m.digest() != digest {
				t.Error("the checkpoint changed the state")
			}
			checkInstalled(t, m, want)
			m.want(install(uploadA, len(pieces)).keyed("i", before), r)
			m.want(install(uploadA, len(pieces)).keyed("j", want), Result{Code: CodeMissing, Revision: want})
		})
	}
}

// checkInstalled checks the state of backedUp, installed at revision.
func checkInstalled(t *testing.T, m *machine, revision uint64) {
	t.Helper()
	for key, want := range map[string]string{"a": "1", "b": "2", "f": "1", "ttl": "x", "locked": "", "c": "-", "mine": "-", "short": "-"} {
		e, found, err := m.Get(key)
		if err != nil || found != (want != "-") || found && (string(e.Value) != want || e.ModifyIndex != revision) {
			t.Errorf("%s: %+v %v %v", key, e, found, err)
		}
	}
	if e, _, _ := m.Get("locked"); e.Session != sid("s1") || !slices.Equal(m.exec.reg.sessions.heldBy(sid("s1")), []string{"locked"}) {
		t.Errorf("the lock is %+v", e)
	}
	if _, lives := m.Session(sid("s3")); lives || m.SessionCount() != 1 || m.SessionsIndex() != revision {
		t.Errorf("%d sessions, index %d", m.SessionCount(), m.SessionsIndex())
	}
	var timed []string
	m.Timed(func(x Timed) { timed = append(timed, fmt.Sprint(x.Kind, x.Name, x.After)) })
	if want := []string{"1" + sid("s1") + "1m0s", "2ttl1h0m0s", "3delayed10s"}; !slices.Equal(timed, want) {
		t.Errorf("%q run, want %q", timed, want)
	}
	v, err := m.State.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if token, known := v.Fence("kv/f"); token != 9 || !known {
		t.Errorf("the fence fell to %d", token)
	}
	if m.Eras() != 1+InstallEras || v.Deleted("") != revision || m.Level() != 1 {
		t.Errorf("era %d, deletions at %d, level %d", m.Eras(), v.Deleted(""), m.Level())
	}
	m.want(set("late", "1").keyed("w2", revision-1), Result{Code: CodeKeyTooOld, Revision: revision})
	if id, n := m.Upload(); id != "" || n != 0 {
		t.Errorf("upload %q, %d pieces", id, n)
	}
}

// A quota, even one that is still counting, counts the entries that an install has put there, and none of those before.
func TestQuotasCountWhatIsInstalled(t *testing.T) {
	m := backedUp(t)
	pieces := piecesOf(t, m)
	later(t, m)
	m.exec.limits.CountKeys = 1
	m.do(quotaOf("a", 0, 1), quotaOf("l", 0, 2), quotaOf("m", 0, 1))
	stageAll(m, uploadA, pieces)
	m.do(install(uploadA, len(pieces)))
	for prefix, want := range map[string]uint64{"a": 1, "l": 1, "m": 0} {
		if q, there := m.exec.reg.quotas.byPrefix.Get(prefix); !there || q.UsedKeys != want || q.Counting {
			t.Errorf("%s: %+v", prefix, q)
		}
	}
	m.Timed(func(x Timed) {
		if x.Kind == TimedQuota {
			t.Errorf("%s is still being counted", x.Name)
		}
	})
	digest := m.digest()
	m.takeCheckpoint()
	m.reopen()
	if m.digest() != digest {
		t.Error("the checkpoint changed the state")
	}
	if r := m.do(set("a2", "1"))[0]; r.Code != CodeQuota {
		t.Errorf("one key too many under a: %+v", r)
	}
	m.want(set("m2", "1"), Result{Code: CodeDone, Revision: m.Revision() + 1})
}

func TestAnUploadIsStagedPieceByPiece(t *testing.T) {
	old := backedUp(t)
	pieces := piecesOf(t, old)
	m := newMachine(t, DefaultLimits)
	m.want(stage(uploadA, 0, pieces[0]), Result{Code: CodeLevel, Revision: 1})
	m.want(level(1), Result{Code: CodeDone, Revision: 1, Count: 1})
	m.do(set("k", "v"))
	at := func(c Code, n uint64) Result { return Result{Code: c, Revision: 2, Count: n} }
	m.want(stage(uploadA, 1, pieces[1]), at(CodeMissing, 0))
	m.want(stage(uploadA, 0, []byte("nonsense")), at(CodeMalformed, 0))
	m.want(stage(uploadA, 0, pieces[0]), at(CodeDone, 1))
	m.want(stage(uploadA, 0, pieces[0]), at(CodeDone, 1)) // a copy
	m.want(stage(uploadB, 0, pieces[0]), at(CodeExists, 0))
	m.want(stage(uploadA, 2, pieces[1]), at(CodeCondition, 0))
	m.want(stage(uploadA, 1, []byte{byte(KindMembers), 1, 'x', 1, 'y'}), at(CodeMalformed, 0))
	m.want(stage(uploadA, 1, []byte{byte(KindData), 9, 'x'}), at(CodeMalformed, 0))
	m.want(stage(uploadA, 1, pieces[1]), at(CodeDone, 2))
	m.want(install(uploadA, 3), at(CodeCondition, 0))
	m.want(install(uploadB, 2), at(CodeMissing, 0))
	// The master ends an upload that nobody goes on with, unless somebody has.
	m.want(Command{Op: OpDropStaged, Session: Session{ID: uploadA}, Arm: 1}, at(CodeDone, 0))
	if _, n := m.Upload(); n != 2 {
		t.Errorf("%d pieces", n)
	}
	var runs []Timed
	m.Timed(func(x Timed) { runs = append(runs, x) })
	if want := []Timed{{Kind: TimedUpload, Name: uploadA, Arm: 2, After: StagedFor}}; !slices.Equal(runs, want) {
		t.Errorf("%+v", runs)
	}
	m.takeCheckpoint()
	m.want(Command{Op: OpDropStaged, Session: Session{ID: uploadA}, Arm: 2}, at(CodeDone, 0))
	m.want(stage(uploadB, 0, pieces[0]), at(CodeDone, 1))
	m.takeCheckpoint()
	m.reopen()
	if id, n := m.Upload(); id != uploadB || n != 1 {
		t.Errorf("%s, %d pieces", id, n)
	}
	if m.get("k") != "k=v f0 c2 m2 l0" {
		t.Error(m.get("k"))
	}
}

// TestAnInstallIsBounded: what is larger is refused, and changes nothing.
func TestAnInstallIsBounded(t *testing.T) {
	var big Pieces
	value := make([]byte, 1<<20)
	var err error
	for i := 0; err == nil && i < 100; i++ {
		err = big.Add(Change{Kind: KindData, Key: []byte{byte(i)}, Value: value})
	}
	if err == nil || big.bytes > MaxUploadBytes+1<<21 {
		t.Errorf("%d bytes, %v", big.bytes, err)
	}
	m := backedUp(t)
	pieces := piecesOf(t, m)
	fill(m, "k", MaxInstallKeys+1, 1)
	stageAll(m, uploadA, pieces)
	before := m.Revision()
	m.want(install(uploadA, len(pieces)), Result{Code: CodeTooMany, Revision: before})
	m.exec.revision = ^uint64(0) - InstallRevisions
	m.want(Command{Op: OpPrune, Key: "k"}, Result{Code: CodeDone, Revision: m.exec.revision + 1, Count: MaxInstallKeys + 1})
	m.want(install(uploadA, len(pieces)), Result{Code: CodeTooLarge, Revision: m.exec.revision})
}

// TestAnInstallDoesNotWrap: a node of an earlier release may have accepted uploads with numbers that no state has
// reached. They are staged all the same. An install that would wrap a number is refused, and no number falls.
func TestAnInstallDoesNotWrap(t *testing.T) {
	const last = math.MaxUint64 - InstallRevisions - 1 // that an install could add to without wrapping
	for name, c := range map[string]struct {
		era, revision uint64 // of the upload; 0: as they are
		code          Code
	}{
		"the last era that leaves others": {era: maxEra - InstallEras, code: CodeDone},
		"one era more":                    {era: maxEra - InstallEras + 1, code: CodeTooLarge},
		"eras that wrap":                  {era: math.MaxUint64 - 5, code: CodeTooLarge},
		"a revision with one behind it":   {revision: last - 1, code: CodeDone},
		"the last revision":               {revision: last, code: CodeTooLarge},
		"revisions that wrap":             {revision: math.MaxUint64 - 5, code: CodeTooLarge},
	} {
		up := newMachine(t, DefaultLimits)
		up.do(level(1), set("z", "1"))
		up.exec.reg.fences.eras = c.era
		up.exec.revision = max(up.exec.revision, c.revision)
		pieces := piecesOf(t, up)
		m := newMachine(t, DefaultLimits)
		m.do(level(1), set("a", "1"), Command{Op: OpNewEra, IdemKey: "run", Base: 1})
		stageAll(m, uploadA, pieces)
		revision, era := m.Revision(), m.Eras()
		r := m.do(install(uploadA, len(pieces)))[0]
		fell := m.Revision() < revision || m.Eras() < era
		if r.Code != c.code || fell || r.Code != CodeDone && m.Revision() != revision {
			t.Errorf("%s: %+v, then at revision %d, era %d", name, r, m.Revision(), m.Eras())
		}
		if want := max(era, c.era) + InstallEras; r.Code == CodeDone && m.Eras() != want {
			t.Errorf("%s: era %d, want %d", name, m.Eras(), want)
		}
		if next := m.do(set("b", "1"))[0]; next.Code != CodeDone || next.Revision <= max(revision, r.Revision) {
			t.Errorf("%s: a write afterwards: %+v", name, next)
		}
	}
}

// TestRevisionsNeverWrap: behind the last revision the state stops, and never begins anew at 0.
func TestRevisionsNeverWrap(t *testing.T) {
	m := newMachine(t, DefaultLimits)
	m.exec.revision = math.MaxUint64 - 1
	m.do(set("a", "1"))
	defer func() {
		if recover() == nil {
			t.Errorf("a write got revision %d", m.Revision())
		}
	}()
	m.do(set("a", "2"))
}

// fill writes keys with values of some bytes.
func fill(m *machine, prefix string, n, bytes int) {
	m.t.Helper()
	value := string(make([]byte, bytes))
	for at := 0; at < n; at += 10_000 {
		var cs []Command
		for i := at; i < min(n, at+10_000); i++ {
			cs = append(cs, set(fmt.Sprintf("%s%06d", prefix, i), value))
		}
		m.do(cs...)
	}
}

// BenchmarkInstall measures for how long the largest install holds up everything else: 10,000 keys that replace as many.
func BenchmarkInstall(b *testing.B) {
	for _, c := range []struct{ keys, bytes int }{{MaxStagedRecords - 100, 16}, {MaxStagedRecords - 100, 750}, {12, 600_000}} {
		b.Run(fmt.Sprintf("%dx%d", c.keys, c.bytes), func(b *testing.B) {
			old := newMachine(b, DefaultLimits)
			old.do(level(1))
			fill(old, "k", c.keys, c.bytes)
			pieces := piecesOf(b, old)
			fill(old, "n", MaxInstallKeys-c.keys, 16)
			var took []time.Duration
			for b.Loop() {
				s, err := Open(old.stateDB.Clone(), DefaultLimits)
				if err != nil {
					b.Fatal(err)
				}
				m := &machine{State: s, t: b, l: DefaultLimits}
				m.Observe(Observer{Changed: func(Changed) {}, Timed: func(Timed) {}})
				stageAll(m, uploadA, pieces)
				began := time.Now()
				if r := m.do(install(uploadA, len(pieces)))[0]; r.Code != CodeDone {
					b.Fatal(r)
				}
				took = append(took, time.Since(began))
			}
			slices.SortFunc(took, cmp.Compare)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/install")
			b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms-worst")
		})
	}
}

// sid returns the ID of a session.
func sid(name string) string { return "00000000-0000-4000-8000-00000000" + fmt.Sprintf("%04x", name) }
