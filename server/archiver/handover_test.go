package archiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/archive"
	"tenure/server/backup"
	"tenure/server/backup/target"
	"tenure/server/replica"
	"tenure/server/runner"
	"tenure/storage"
)

// The tests of this file move the archive from one node to another at every step. Each operation of the first archiver
// on its target fails once before it has had an effect, and once after it, when only the answer is lost. The archiver
// then dies, or keeps running beside the other one, as a deposed master may. After every change of the target, each
// slot that was reported as archived can be restored: a crash of all nodes would leave just that.

const (
	handoverSlots = 13
	keptFor       = 3 * time.Hour
)

var began = time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)

// chosen is the log that all nodes have: in real storage, with the headers of the backups that can be made of it.
type chosen struct {
	store   *storage.Store
	cluster ident.ClusterID
	values  [handoverSlots + 1][]byte
	copies  [handoverSlots + 1][]byte // header of a backup of the state after that slot
}

func newChosen(t *testing.T) *chosen {
	t.Helper()
	s, err := storage.Open(t.TempDir(), storage.Options{LogInitialBytes: 64 << 10, JournalBytes: 64 << 10})
	must(t, err)
	t.Cleanup(func() { s.Close() })
	must(t, s.SetNode(1))
	c := &chosen{store: s, cluster: ident.ClusterID{7}}
	must(t, s.Found(c.cluster, ident.Membership{Number: 1,
		Members: []ident.Member{{Node: 1, Store: s.Identity().Store}}}))
	must(t, s.Start(storage.StartRecord{Restart: 1, Bucket: time.Second}))
	state, err := kv.Open(s, kv.DefaultLimits)
	must(t, err)
	b := ballot.Ballot{Counter: 1, Restart: 1, Node: 1}
	for slot := uint64(1); slot <= handoverSlots; slot++ {
		set := kv.Command{Op: kv.OpSet, Key: fmt.Sprint(slot), Value: []byte("v")}
		value := kv.AppendBatch(nil, kv.EncodeCommand(&set))
		_, err := state.Apply(slot, value)
		must(t, err)
		c.values[slot] = value
		must(t, s.Commit([]multipaxos.Persist{{Seq: slot, Chosen: multipaxos.Slot(slot),
			Entries: []multipaxos.Entry{{Slot: multipaxos.Slot(slot), Ballot: b, Value: value}}}}))
		must(t, s.Checkpoint(state.Freeze().Checkpoint()))
		must(t, state.Checkpointed())
		snapshot, err := s.Snapshot()
		must(t, err)
		m, err := backup.NewMaker(snapshot, began)
		must(t, err)
		head, err := m.Next()
		must(t, err)
		c.copies[slot] = bytes.Clone(head)
		snapshot.Close()
	}
	return c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is a target in memory.
type place struct {
	objects map[string][]byte
	changed func(what string) // after each change
}

func (p *place) list(prefix string) (all []target.Object) {
	for name := range p.objects {
		if strings.HasPrefix(name, prefix) {
			all = append(all, target.Object{Name: name})
		}
	}
	slices.SortFunc(all, func(a, b target.Object) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// reach is how one archiver reaches the place.
type reach struct {
	*place
	operations int
	failAt     int  // number of the operation that fails; 0: none
	late       bool // it fails after it had its effect
	failed     bool
}

var errFault = errors.New("planted fault")

// do carries out an operation, or fails it.
func (r *reach) do(effect func()) error {
	r.operations++
	if r.operations != r.failAt {
		effect()
		return nil
	}
	r.failed = true
	if r.late {
		effect()
	}
	return errFault
}

func (r *reach) Put(_ context.Context, name string, in io.Reader) error {
	b, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	return r.do(func() {
		if old, there := r.objects[name]; there && !bytes.Equal(old, b) {
			panic("another object under the name " + name)
		}
		r.objects[name] = b
		r.changed("put " + name)
	})
}

func (r *reach) Get(_ context.Context, name string) (out io.ReadCloser, err error) {
	err = r.do(func() { out = io.NopCloser(bytes.NewReader(r.objects[name])) })
	return out, err
}

func (r *reach) List(_ context.Context, prefix string) (all []target.Object, err error) {
	if err := r.do(func() { all = r.list(prefix) }); err != nil {
		return nil, err
	}
	return all, nil
}

func (r *reach) Delete(_ context.Context, name string) error {
	return r.do(func() {
		delete(r.objects, name)
		r.changed("delete " + name)
	})
}

func (*reach) Close() error   { return nil }
func (*reach) String() string { return "memory" }

// headOnly is a Copy with nothing behind the header: these tests restore only slots.
type headOnly struct{ head []byte }

func (h *headOnly) Next() ([]byte, error) {
	if h.head == nil {
		return nil, io.EOF
	}
	out := h.head
	h.head = nil
	return out, nil
}

func (*headOnly) Close(error) {}

// fakeLog is the log of a node that has applied so many slots.
type fakeLog struct{ applied, truncated uint64 }

func (l *fakeLog) View() *runner.LogView {
	return &runner.LogView{Status: replica.Status{Applied: l.applied, Synced: l.applied, Truncated: l.truncated}}
}
func (*fakeLog) Do(func(*replica.Log)) bool     { return true }
func (*fakeLog) Checkpoint(time.Duration) error { return nil }

// relay is a cluster whose archive goes from one archiver to another one.
type relay struct {
	t        *testing.T
	name     string
	chosen   *chosen
	place    *place
	elapsed  time.Duration
	log      fakeLog
	claimed  uint64 // the last slot that any archiver has called archived
	archives []*member
}

// member is a node that archives.
type member struct {
	*Archiver
	reach     *reach
	clock     time.Duration // how far its wall clock is ahead
	copyState copyState
}

// Now is the clock of all.
func (r *relay) Now() time.Duration { return r.elapsed }

func newRelay(t *testing.T, c *chosen, name string) *relay {
	r := &relay{t: t, name: name, chosen: c, place: &place{objects: map[string][]byte{}}}
	r.place.changed = r.check
	return r
}

// join makes another node archive, whose wall clock is ahead by so much.
func (r *relay) join(reach *reach, ahead time.Duration) *member {
	reach.place = r.place
	m := r.joinAt(reach, ahead)
	m.reach = reach
	return m
}

// joinAt is join with any target.
func (r *relay) joinAt(x target.Target, ahead time.Duration) *member {
	m := &member{clock: ahead}
	m.Archiver = New(Config{
		Target: x, Schedule: archive.Schedule{FullEvery: time.Hour, Keep: keptFor, VerifyEvery: time.Hour},
		Self: ballot.NodeID(len(r.archives) + 1), Cluster: r.chosen.cluster, Clock: r,
		Wall: func() time.Time { return r.wall(ahead) },
		Log:  &r.log, Store: r.chosen.store, Registry: prometheus.NewRegistry(), Logger: zerolog.Nop(),
		Backup: func(time.Duration) (Copy, error) { return &headOnly{r.chosen.copies[r.log.applied]}, nil },
	})
	r.archives = append(r.archives, m)
	return m
}

func (r *relay) wall(ahead time.Duration) time.Time { return began.Add(r.elapsed + ahead) }

// apply lets another slot be applied at all nodes, half an hour later.
func (r *relay) apply() {
	r.elapsed += 30 * time.Minute
	r.log.applied++
	for _, m := range r.archives {
		m.moments.Add(r.log.applied, r.log.applied+1, m.now())
	}
}

// work is a turn of everything that an archiver does.
func (m *member) work(r *relay) {
	for range 2 { // what is gathered in the first turn is due in the second
		if err := m.shipOnce(context.Background()); err != nil && !errors.Is(err, errFault) {
			r.t.Fatalf("%s: node %d: %v", r.name, m.cfg.Self, err)
		}
		r.elapsed += 2 * time.Second
	}
	if m.active {
		r.claimed = max(r.claimed, m.told.Slot)
		m.runDue(context.Background(), &m.copyState)
	}
}

// check fails the test unless every slot that was called archived, and is not too old, can be restored.
func (r *relay) check(what string) {
	r.t.Helper()
	l := archive.List(r.chosen.cluster, names(r.place.list("")))
	ahead := time.Duration(0)
	for _, m := range r.archives {
		ahead = max(ahead, m.clock)
	}
	kept := archive.Schedule{Keep: keptFor}.Kept(&l, r.wall(ahead))
	if len(kept) == 0 {
		return
	}
	for slot := kept[0].Slot; slot <= r.claimed; slot++ {
		if err := r.restore(l, slot); err != nil {
			r.t.Fatalf("%s: after %s, slot %d of %d cannot be restored: %v\n%s", r.name, what, slot, r.claimed, err,
				strings.Join(names(r.place.list("")), "\n"))
		}
	}
}

// restore reads what a restore to a slot reads, and compares it with the log.
func (r *relay) restore(l archive.Listing, slot uint64) error {
	plan, err := archive.PlanRestore(&l, archive.At{Slot: slot})
	if err != nil {
		return err
	}
	at, after, known := plan.Full.Slot, archive.Chain{}, false
	for _, s := range plan.Segments {
		c, err := archive.ReadSegment(r.chosen.cluster, s, r.place.objects[s.Name(r.chosen.cluster)])
		if err == nil && known {
			err = c.Follows(at, after)
		}
		if err != nil {
			return err
		}
		for n, v := range c.Values {
			if !bytes.Equal(v, r.chosen.values[c.First+uint64(n)]) {
				return fmt.Errorf("slot %d is another one", c.First+uint64(n))
			}
		}
		at, after, known = c.Last, c.After, true
	}
	if at < slot {
		return fmt.Errorf("it ends at slot %d, and slots %v are missing", at, plan.Missing)
	}
	return nil
}

func names(objects []target.Object) (all []string) {
	for _, o := range objects {
		all = append(all, o.Name)
	}
	return all
}

// handover is one way in which the archive goes from the first node to the second.
type handover struct {
	failAt int
	late   bool
	goesOn bool // the first node archives beside the second one
	told   int  // what the second node has heard of how far the first one was: nothing, all but its last turn, all
	ahead  time.Duration
}

// run has the first node archive until its operation fails, the second one from there, and returns how many operations
// the first one made. Both see slots applied at every step.
func (h handover) run(t *testing.T, c *chosen) int {
	r := newRelay(t, c, fmt.Sprintf("failAt %d late %v goesOn %v told %d ahead %v", h.failAt, h.late, h.goesOn, h.told,
		h.ahead))
	first := r.join(&reach{failAt: h.failAt, late: h.late}, 0)
	told, known := first.told, first.known
	for r.log.applied < handoverSlots-2 && !first.reach.failed {
		r.apply()
		told, known = first.told, first.known // the newest message may be lost
		first.work(r)
	}
	operations := first.reach.operations
	second := r.join(&reach{}, h.ahead)
	for slot := uint64(1); slot <= r.log.applied; slot++ { // it was there all the time
		second.moments.Add(slot, slot+1, r.wall(h.ahead))
	}
	if h.told == 2 {
		told, known = first.told, first.known
	}
	if known && h.told > 0 {
		second.Told(first.cfg.Self, told)
	}
	for r.log.applied < handoverSlots {
		r.apply()
		if h.goesOn {
			first.work(r)
		}
		second.work(r)
	}
	if r.claimed != handoverSlots || !second.active {
		t.Fatalf("%s: slots are archived up to %d, %d are applied", r.name, r.claimed, handoverSlots)
	}
	r.check("everything")
	l := archive.List(c.cluster, names(r.place.list("")))
	if h.ahead >= 0 && (len(l.Fulls) < 2 || l.Fulls[0].Slot == 1) {
		t.Fatalf("%s: full copies %v: nothing has expired", r.name, l.Fulls)
	}
	return operations
}

func TestHandoverAtEveryStep(t *testing.T) {
	c := newChosen(t)
	all := handover{}.run(t, c)
	runs := 0
	for failAt := 1; failAt <= all; failAt++ {
		for mode := range 12 {
			if testing.Short() && (failAt+mode)%4 > 0 {
				continue // under the race detector all of them take minutes
			}
			for _, ahead := range []time.Duration{0, 90 * time.Minute, -90 * time.Minute} {
				handover{failAt: failAt, late: mode&1 > 0, goesOn: mode&2 > 0, told: mode / 4, ahead: ahead}.run(t, c)
				runs++
			}
		}
	}
	t.Logf("%d operations of the first node, %d ways to hand over", all, runs)
	if all < 30 {
		t.Errorf("only %d operations", all)
	}
}

// While the archive's disk is unmounted, an empty directory in its place gets no object, for any time and any pending
// write. When the right directory is back, it is complete.
func TestAnotherDirectoryIsNotWrittenTo(t *testing.T) {
	c := newChosen(t)
	for awayAt := uint64(2); awayAt < handoverSlots-3; awayAt++ {
		for _, lasts := range []uint64{1, 2, 3} {
			root := filepath.Join(t.TempDir(), "archive")
			must(t, os.Mkdir(root, 0o700))
			x, err := target.Open(root, target.Config{})
			must(t, err)
			r := newRelay(t, c, fmt.Sprintf("away at %d for %d", awayAt, lasts))
			m := r.joinAt(x, 0)
			for r.log.applied < handoverSlots {
				if r.log.applied == awayAt {
					must(t, os.Rename(root, root+".away"))
					must(t, os.Mkdir(root, 0o700))
				}
				if r.log.applied == awayAt+lasts {
					files, err := os.ReadDir(root)
					if err != nil || len(files) > 0 {
						t.Fatalf("%s: %v in the other directory, %v", r.name, files, err)
					}
					must(t, os.Remove(root))
					must(t, os.Rename(root+".away", root))
				}
				r.apply()
				m.attempt(r)
			}
			m.attempt(r)
			r.load(x)
			if r.claimed != handoverSlots {
				t.Fatalf("%s: slots are archived up to %d", r.name, r.claimed)
			}
			r.check("everything")
		}
	}
}

// An archive whose end is gone, as after its disk was put back from a copy, is not gone on with: what this cluster was
// told is archived would be missing.
func TestAnArchiveThatHasLostItsEndIsNotGoneOnWith(t *testing.T) {
	r := newRelay(t, newChosen(t), "lost")
	first := r.join(&reach{}, 0)
	for r.log.applied < handoverSlots-3 {
		r.apply()
		first.work(r)
	}
	r.place.changed = func(string) {} // what follows cannot be restored
	all := names(r.place.list(""))
	l := archive.List(r.chosen.cluster, all)
	last := l.Segments[len(l.Segments)-1]
	delete(r.place.objects, last.Name(r.chosen.cluster))
	second := r.join(&reach{}, 0)
	second.Told(first.cfg.Self, first.told)
	r.apply()
	if err := second.shipOnce(context.Background()); !errors.Is(err, errLost) || second.active {
		t.Errorf("%v, active %v", err, second.active)
	}
	if now := names(r.place.list("")); len(now) != len(all)-1 {
		t.Errorf("%q was written", now)
	}
}

// attempt is work at a target that may fail.
func (m *member) attempt(r *relay) {
	for range 3 {
		_ = m.shipOnce(context.Background())
		r.elapsed += 2 * time.Second
	}
	if m.active {
		r.claimed = max(r.claimed, m.told.Slot)
		m.runDue(context.Background(), &m.copyState)
	}
}

// load makes the place have what x has.
func (r *relay) load(x target.Target) {
	all, err := x.List(context.Background(), "")
	must(r.t, err)
	for _, o := range all {
		in, err := x.Get(context.Background(), o.Name)
		must(r.t, err)
		b, err := io.ReadAll(in)
		must(r.t, errors.Join(err, in.Close()))
		r.place.objects[o.Name] = b
	}
}
