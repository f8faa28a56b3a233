package recovery

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/members"
	"tenure/storage"
)

var small = storage.Options{LogInitialBytes: 64 << 10, JournalBytes: 64 << 10}

// world makes the directories of nodes of one cluster.
type world struct {
	t       *testing.T
	dir     string
	cluster byte
	nodes   []ballot.NodeID
}

func newWorld(t *testing.T, nodes ...ballot.NodeID) *world {
	return &world{t: t, dir: t.TempDir(), cluster: 1, nodes: nodes}
}

// log describes the files of a node: entries from slot 1 on. Those through state are applied, those through chosen are
// known to be chosen, and the rest is only accepted. An entry is "a=1" (a write), "a=1@k" (with idempotency key k), "-"
// (a no-op), "" (nothing), or "era"; behind a slash the counter of its ballot.
type log struct {
	state, chosen int
	entries       []string
	restart       uint64
	membership    ident.Membership // that the node went by, if not that of the bootstrap
	user, longest time.Duration    // quarantine of named leases, as the node and as any may have granted them
}

// grown is the membership that the entry "members" brings.
var grown = ident.Membership{Number: 2, Change: 2, Members: []ident.Member{{Node: 2, Store: ident.StoreID{1, 2}},
	{Node: 3, Store: ident.StoreID{1, 3}}, {Node: 4}, {Node: 5}, {Node: 6}}}

func value(text string) []byte {
	var c kv.Command
	switch text {
	case "-":
		return nil
	case "era":
		c = kv.Command{Op: kv.OpNewEra, IdemKey: "run", Base: 1}
	case "members":
		return append([]byte{3}, members.First(grown).Encode()...)
	default:
		text, idem, _ := strings.Cut(text, "@")
		key, v, _ := strings.Cut(text, "=")
		c = kv.Command{Op: kv.OpSet, Key: key, Value: []byte(v), IdemKey: idem}
	}
	return append([]byte{1}, kv.AppendBatch(nil, kv.EncodeCommand(&c))...)
}

// make makes the directory of a node and returns it.
func (w *world) make(node ballot.NodeID, l log) string {
	w.t.Helper()
	dir := filepath.Join(w.dir, fmt.Sprint("node", node))
	s, err := storage.Open(dir, small)
	w.must(err)
	m := ident.Membership{Number: 1}
	for _, id := range w.nodes {
		x := ident.Member{Node: id, Store: ident.StoreID{w.cluster, byte(id)}, Name: fmt.Sprint("rack ", id)}
		if id == node {
			x.Store = s.Identity().Store
		}
		m.Members = append(m.Members, x)
	}
	w.must(s.SetNode(node))
	w.must(s.Found(ident.ClusterID{w.cluster}, m))
	w.must(s.Start(storage.StartRecord{Restart: max(l.restart, 1), Quarantine: storage.Quarantine{Master: time.Second,
		User: l.user}, Bucket: time.Second, Longest: l.longest}))
	w.fill(s, l)
	if l.membership.Number > 0 {
		m := l.membership
		m.Members = slices.Clone(m.Members)
		for i := range m.Members {
			if m.Members[i].Store.IsZero() {
				m.Members[i].Store = ident.StoreID{9, byte(i)}
			}
			if m.Members[i].Node == node {
				m.Members[i].Store = s.Identity().Store
			}
		}
		w.must(s.SetMembership(m))
	}
	w.must(s.Close())
	return dir
}

func (w *world) fill(s *storage.Store, l log) {
	w.t.Helper()
	p := multipaxos.Persist{Seq: 1, Chosen: multipaxos.Slot(l.chosen)}
	for i, text := range l.entries {
		if text == "" {
			continue
		}
		b := ballot.Ballot{Counter: 1, Restart: 1, Node: 1}
		text, counter, ok := strings.Cut(text, "/")
		if ok {
			_, err := fmt.Sscan(counter, &b.Counter)
			w.must(err)
		}
		p.Entries = append(p.Entries, multipaxos.Entry{Slot: multipaxos.Slot(i + 1), Ballot: b, Value: value(text)})
	}
	w.must(s.Commit([]multipaxos.Persist{p}))
	if l.state == 0 {
		return
	}
	state, err := kv.Open(s, kv.DefaultLimits)
	w.must(err)
	for _, e := range p.Entries[:l.state] {
		batch := e.Value
		if len(batch) > 0 {
			batch = batch[1:]
		}
		_, err := state.Apply(uint64(e.Slot), batch)
		w.must(err)
	}
	w.must(s.Checkpoint(state.Freeze().Checkpoint()))
	w.must(s.Commit([]multipaxos.Persist{{Seq: 2, Truncate: multipaxos.Slot(l.state)}}))
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// apply makes the plan for dirs and applies it.
func (w *world) apply(dirs ...string) (Plan, Result) {
	w.t.Helper()
	p, err := Make(dirs)
	w.must(err)
	var b bytes.Buffer
	w.must(p.Write(&b))
	if p, err = ReadPlan(&b); err != nil {
		w.t.Fatal(err)
	}
	r, err := Apply(p, filepath.Join(w.dir, "new"), p.Confirm)
	w.must(err)
	return p, r
}

// result opens what was made. keys is "a=1 b=2".
func (w *world) result(r Result) (s *storage.Store, state *kv.State, keys string) {
	w.t.Helper()
	s, err := storage.Open(r.Dir, small)
	w.must(err)
	w.t.Cleanup(func() { s.Close() })
	state, err = kv.Open(s, kv.DefaultLimits)
	w.must(err)
	v, err := s.View()
	w.must(err)
	defer v.Close()
	var all []string
	w.must(v.Ascend(kv.KindData, nil, func(key, _ []byte) bool {
		e, _, err := state.Get(string(key))
		w.must(err)
		all = append(all, fmt.Sprintf("%s=%s", key, e.Value))
		return true
	}))
	return s, state, strings.Join(all, " ")
}

func TestTwoOfThreeAreLost(t *testing.T) {
	w := newWorld(t, 1, 2, 3)
	dir := w.make(2, log{state: 3, chosen: 4, restart: 7, user: time.Hour,
		entries: []string{"-", "a=1@once", "era", "b=2", "c=3@late", "", "d=4"}})
	p, r := w.apply(dir)
	want := Plan{
		Format: 1, Cluster: ident.ClusterID{1}.String(), Voters: []ballot.NodeID{1, 2, 3}, Gone: []ballot.NodeID{1, 3},
		Continues: dir, Chosen: 4, Last: 7, Uncertain: 3, Empty: 1, Confirm: "slots-above-4-of-01000000",
		Touched: []Touched{{`key "c"`, 5, 5, 1}, {`key "d"`, 7, 7, 1}},
		Survivors: []Survivor{{Dir: dir, Node: 2, Store: p.Survivors[0].Store, Restart: 7, State: 3, Revision: 2, Chosen: 4,
			Last: 7}},
	}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("%+v\nwant %+v", p, want)
	}
	s, state, keys := w.result(r)
	if keys != "a=1 b=2 c=3 d=4" {
		t.Error(keys)
	}
	if !jumped(state) || r.Revision != state.Revision() {
		t.Errorf("revision %d, slot %d, era %d, %+v", state.Revision(), state.Applied(), state.Eras(), r)
	}
	id := s.Identity()
	if id.Cluster == (ident.ClusterID{1}) || id.Cluster != r.Cluster || id.Node != 2 || !id.TakesPart() ||
		len(id.Membership.All()) != 1 || id.Membership.Number != 2 || id.Membership.Members[0].Name != "rack 2" {
		t.Errorf("%+v", id)
	}
	record, err := members.Decode(state.Members())
	if err != nil || !reflect.DeepEqual(record.Membership, id.Membership) || record.NextNode != 4 || !record.IsSettled() ||
		uint64(record.Membership.Era) != state.Eras() {
		t.Errorf("%+v %v", record, err)
	}
	if got := s.StartRecord(); got.Restart != 8 || got.Quarantine != (storage.Quarantine{Master: time.Second,
		User: time.Hour}) || got.Bucket != 0 {
		t.Errorf("%+v", got)
	}
	if d := s.Durable(); d.Truncated != multipaxos.Slot(state.Applied()) || d.Last != d.Truncated || d.Chosen != d.Truncated {
		t.Errorf("%+v", d)
	}
}

// No retry of a write that the old cluster may have carried out is carried out again, also if it was lost.
// A4: nodes that are gone may have granted longer leases than the survivors.
func TestA4TheLongestLeaseIsWaitedFor(t *testing.T) {
	w := newWorld(t, 1, 2, 3)
	_, r := w.apply(w.make(1, log{user: time.Minute, longest: time.Second}), w.make(2, log{user: time.Second, longest: time.Hour}))
	s, _, _ := w.result(r)
	if got := s.StartRecord().Quarantine.User; got != time.Hour {
		t.Errorf("named leases wait %v", got)
	}
}

func TestRetriesAreRefused(t *testing.T) {
	w := newWorld(t, 1, 2, 3)
	_, r := w.apply(w.make(1, log{chosen: 1, entries: []string{"a=1@once"}}))
	_, state, _ := w.result(r)
	for _, c := range []kv.Command{
		{Op: kv.OpSet, Key: "a", Value: []byte("1"), IdemKey: "once"},
		{Op: kv.OpSet, Key: "z", Value: []byte("1"), IdemKey: "lost", Base: 40},
	} {
		got, err := state.Apply(state.Applied()+1, kv.AppendBatch(nil, kv.EncodeCommand(&c)))
		if err != nil || len(got) != 1 || got[0].Code != kv.CodeKeyTooOld {
			t.Errorf("%+v %v", got, err)
		}
	}
}

// One survivor may lack an acknowledged entry that another has: all of them count.
func TestAllSurvivorsCount(t *testing.T) {
	w := newWorld(t, 1, 2, 3, 4, 5)
	one := w.make(1, log{state: 2, chosen: 2, entries: []string{"-", "a=1", "b=1/1", "c=old/1", "", "e=1/4"}})
	four := w.make(4, log{state: 0, chosen: 1, entries: []string{"-", "a=1", "b=1/1", "c=new/3", "d=1/3"}})
	p, r := w.apply(one, four)
	if _, _, keys := w.result(r); keys != "a=1 b=1 c=new d=1 e=1" || p.Uncertain != 4 || p.Complete {
		t.Errorf("%s\n%+v", keys, p)
	}
	if len(p.Touched) != 4 || p.Touched[1].Name != `key "c"` {
		t.Errorf("%+v", p.Touched)
	}
}

func TestNothingIsLostIfTheSurvivorsBlockEveryMajority(t *testing.T) {
	w := newWorld(t, 1, 2, 3, 4)
	p, r := w.apply(w.make(1, log{entries: []string{"-", "a=1"}}), w.make(2, log{}))
	if _, _, keys := w.result(r); keys != "a=1" || !p.Complete || p.Uncertain != 0 || p.Confirm != "nothing-of-01000000" {
		t.Errorf("%s\n%+v", keys, p)
	}
	var b strings.Builder
	w.must(p.Report(&b))
	if !strings.Contains(b.String(), "Nothing that was acknowledged is lost.") || strings.Contains(b.String(), "A majority") {
		t.Error(b.String())
	}
}

// The members before a change decide the slots below it, even if the survivors' state does not list them and the
// survivors' identity is past the change.
func TestMembersHadChanged(t *testing.T) {
	w := newWorld(t, 1, 2, 3)
	l := log{chosen: 2, entries: []string{"-", "a=1", "members", "b=1"}, membership: grown}
	two := w.make(2, l)
	p, r := w.apply(two, w.make(3, l))
	if p.Uncertain != 1 || p.Complete || !slices.Equal(p.Voters, []ballot.NodeID{2, 3, 4, 5, 6}) ||
		!slices.Equal(p.Gone, []ballot.NodeID{4, 5, 6}) {
		t.Errorf("%+v", p)
	}
	s, state, keys := w.result(r)
	record, err := members.Decode(state.Members())
	if keys != "a=1 b=1" || err != nil || record.NextNode != 7 || s.Identity().Membership.Number != 3 {
		t.Errorf("%s %+v %v", keys, record, err)
	}
}

// Many records are copied in several steps, and a long log is applied in several checkpoints.
func TestMuchIsRecovered(t *testing.T) {
	w := newWorld(t, 1, 2, 3)
	l := log{state: 20, chosen: 30}
	var want []string
	for i := range 40 {
		e := fmt.Sprintf("k%02d=%s", i, strings.Repeat("v", 500<<10))
		want = append(want, e)
		l.entries = append(l.entries, e)
	}
	_, r := w.apply(w.make(3, l))
	if _, _, keys := w.result(r); keys != strings.Join(want, " ") {
		t.Errorf("%.200s", keys)
	}
}

func TestRefusals(t *testing.T) {
	w := newWorld(t, 1, 2, 3)
	one := w.make(1, log{chosen: 1, entries: []string{"a=1", "b=1"}})
	copied := filepath.Join(t.TempDir(), "copy")
	w.must(os.CopyFS(copied, os.DirFS(one)))
	other := newWorld(t, 1, 2, 3)
	other.cluster = 2
	two := other.make(2, log{})
	bare, err := storage.Open(filepath.Join(t.TempDir(), "bare"), small)
	w.must(err)
	w.must(bare.Close())

	for name, c := range map[string]struct {
		dirs []string
		kind error
		says string
	}{
		"no directory":   {nil, ErrRefused, "name the data directory"},
		"not there":      {[]string{filepath.Join(w.dir, "none")}, storage.ErrUnusable, "holds no store"},
		"the same":       {[]string{one, one + "/"}, ErrRefused, "are the same directory"},
		"twice":          {[]string{one, copied}, ErrRefused, "are both of node 1"},
		"other clusters": {[]string{one, two}, ErrRefused, "give the directories of one of them"},
	} {
		if _, err := Make(c.dirs); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}

	p, err := Make([]string{copied})
	w.must(err)
	full := t.TempDir()
	w.must(os.WriteFile(filepath.Join(full, "file"), nil, 0o600))
	half, whole := t.TempDir(), t.TempDir()
	for dir, file := range map[string]string{half: "state.db", whole: last} {
		w.must(os.Mkdir(filepath.Join(dir, unfinished), 0o755))
		w.must(os.WriteFile(filepath.Join(dir, file), nil, 0o600))
	}
	to := filepath.Join(t.TempDir(), "new")
	for name, c := range map[string]struct {
		to, confirm string
		change      func(*Plan)
		says        string
	}{
		"not confirmed":       {to, "", func(*Plan) {}, "slots-above-1-of-01000000"},
		"confirmed elsewhere": {to, "nothing-of-01000000", func(p *Plan) { p.Confirm = "nothing-of-01000000" }, "slots-above-1"},
		"not empty":           {full, p.Confirm, func(*Plan) {}, "is not empty"},
		"interrupted":         {half, p.Confirm, func(*Plan) {}, "remove everything in it"},
		"interrupted at last": {whole, p.Confirm, func(*Plan) {}, "is not empty"},
		"another plan":        {to, p.Confirm, func(p *Plan) { p.Last++ }, "a node has run since"},
	} {
		plan := p
		c.change(&plan)
		if _, err := Apply(plan, c.to, c.confirm); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	running, err := storage.Open(one, small)
	w.must(err)
	defer running.Close()
	if _, err := Make([]string{one}); !errors.Is(err, storage.ErrInUse) {
		t.Errorf("a node that runs: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(to)); err != nil || len(left) != 0 {
		t.Errorf("left over: %v %v", left, err)
	}
}

// A plan is a file that people handle: one that was cut short or edited is refused.
func TestPlansThatWereEdited(t *testing.T) {
	to := filepath.Join(t.TempDir(), "new")
	for _, text := range []string{"", "{}", `{"format": 1, "survivors": [{}]}`,
		`{"format": 1, "survivors": [{"dir": "/none"}], "cluster": "ab", "confirm": "x"}`,
		`{"format": 1, "survivors": [{"dir": "/none"}], "cluster": "ab", "confirm": "slots-above-0-of-ab"}`} {
		p, err := ReadPlan(strings.NewReader(text))
		if err == nil {
			_, err = Apply(p, to, p.Confirm)
		}
		if err == nil {
			t.Errorf("%q was applied", text)
		}
	}
}

// The keys that a plan names may be long, and JSON makes them longer.
func TestALargePlanCanBeRead(t *testing.T) {
	p := Plan{Format: planFormat, Cluster: "0123456789abcdef", Survivors: make([]Survivor, 1)}
	for range maxTouched {
		p.Touched = append(p.Touched, Touched{Name: fmt.Sprintf("key %q", strings.Repeat("<", kv.MaxKeyBytes))})
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if _, err := ReadPlan(strings.NewReader("\ufeff" + text)); err != nil {
		t.Errorf("with a byte order mark: %v", err)
	}
	if _, err := ReadPlan(strings.NewReader(text)); err != nil {
		t.Error(err)
	}
	if _, err := ReadPlan(strings.NewReader("\xff\xfe{\x00")); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "it is UTF-16") {
		t.Errorf("in UTF-16: %v", err)
	}
}

// An Apply that was interrupted leaves a directory that the next one makes anew.
func TestApplyAgain(t *testing.T) {
	w := newWorld(t, 1, 2, 3)
	dir := w.make(1, log{chosen: 1, entries: []string{"a=1"}})
	w.must(os.MkdirAll(filepath.Join(w.dir, "new", unfinished, "deeper"), 0o755))
	_, r := w.apply(dir)
	if _, _, keys := w.result(r); keys != "a=1" {
		t.Error(keys)
	}
	if _, err := os.Stat(filepath.Join(r.Dir, unfinished)); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
