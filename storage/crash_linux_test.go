package storage

import (
	"bufio"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tenure/internal/ballot"
	"tenure/internal/faultfs"
	"tenure/internal/ident"
	"tenure/internal/testseed"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/storage/internal/acceptor"
	"tenure/storage/internal/disktest"
)

// The crash tests run a store in a child process on a file system that forgets what was not synced. The child does a
// fixed list of operations, drawn from a seed, and says after each that it is durable. The parent stops the file system
// after some write or sync, kills the child, drops unsynced data, and starts another child. The store of that child
// must hold all operations up to the last one acknowledged, or one more, and no part of any other.
//
// The journal is small, so that it goes round and round, and commits of all sizes go through it or past it while the
// flusher moves others.
//
// To see them fail: set NoSync in logBolt or stateBolt, or let dataFile.Sync do nothing. A file system that lies about
// syncs stands for that in TestCrashTestSeesLostSyncs.

const (
	childDirEnv  = "TENURE_STORAGE_CHILD"
	childSeedEnv = "TENURE_STORAGE_SEED"
	childFromEnv = "TENURE_STORAGE_FROM" // operations known to be durable
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDirEnv); dir != "" {
		os.Exit(crashChild(dir))
	}
	goleak.VerifyTestMain(m)
}

// installSeeds is the first seed of a list with snapshots in it.
const installSeeds = 1 << 63

// childOps bounds a child that nothing stops. No test lets one do nearly as many.
const childOps = 3000

// op is one operation of the list: a commit, a checkpoint, or a snapshot through slot install.Slot that is received and
// then installed.
type op struct {
	commit     []multipaxos.Persist
	checkpoint *listed
	install    *listed
}

// script draws the list of operations, and knows what a store holds after each.
type script struct {
	seed         uint64
	r            *rand.Rand
	n            int // operations drawn
	durable      multipaxos.Durable
	entries      map[multipaxos.Slot]multipaxos.Entry
	stateDB      map[string]string
	checkpointed uint64
}

func newScript(seed uint64) *script {
	return &script{
		seed: seed, r: rand.New(rand.NewPCG(seed, 0)), entries: map[multipaxos.Slot]multipaxos.Entry{},
		stateDB: map[string]string{},
	}
}

func (m *script) value() []byte {
	n := m.r.IntN(600)
	if m.r.IntN(20) == 0 {
		n = m.r.IntN(20_000) // pages with overflow
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(m.r.Uint32())
	}
	return b
}

// next draws an operation and applies it to the model.
func (m *script) next() op {
	m.n++
	if m.n%6 == 0 {
		return op{checkpoint: m.drawCheckpoint()}
	}
	if m.seed >= installSeeds && m.n%4 == 1 {
		return op{install: m.drawInstall()}
	}
	ps := make([]multipaxos.Persist, 1+m.r.IntN(3))
	for i := range ps {
		ps[i] = m.drawPersist()
	}
	return op{commit: ps}
}

func (m *script) drawPersist() multipaxos.Persist {
	var p multipaxos.Persist
	if m.r.IntN(3) == 0 {
		p.Promised = ballot.Ballot{Counter: m.durable.Promised.Counter + 1 + m.r.Uint64N(3), Restart: m.r.Uint64N(9),
			Node: 1}
		m.durable.Promised = p.Promised
	}
	from := max(m.durable.Chosen, m.durable.Truncated) + 1
	if m.r.IntN(4) > 0 || from > m.durable.Last {
		from = m.durable.Last + 1
	}
	for i := range multipaxos.Slot(m.r.IntN(9)) {
		e := multipaxos.Entry{Slot: from + i, Ballot: m.durable.Promised, Value: m.value()}
		p.Entries = append(p.Entries, e)
		m.entries[e.Slot] = e
		m.durable.Last = max(m.durable.Last, e.Slot)
	}
	if m.r.IntN(2) == 0 {
		p.Chosen = m.durable.Chosen + multipaxos.Slot(m.r.Uint64N(uint64(m.durable.Last-m.durable.Chosen)+1))
		m.durable.Chosen = max(m.durable.Chosen, p.Chosen)
	}
	if cut := multipaxos.Slot(m.checkpointed); m.r.IntN(4) == 0 && cut > m.durable.Truncated {
		p.Truncate = cut
		m.durable.Truncated = cut
		maps.DeleteFunc(m.entries, func(s multipaxos.Slot, _ multipaxos.Entry) bool { return s <= cut })
		m.durable.Chosen = max(m.durable.Chosen, cut)
	}
	return p
}

func (m *script) drawCheckpoint() *listed {
	m.checkpointed = max(m.checkpointed, uint64(m.durable.Chosen))
	f := &listed{Slot: m.checkpointed, Meta: fmt.Appendf(nil, "after %d", m.n)}
	for i := range 400 {
		if m.r.IntN(8) > 0 {
			continue
		}
		key := fmt.Sprintf("key%03d", i)
		c := kv.Change{Kind: kv.KindData, Key: []byte(key)}
		delete(m.stateDB, key)
		if m.r.IntN(3) > 0 {
			c.Value = m.value()
			m.stateDB[key] = string(c.Value)
		}
		f.Changes = append(f.Changes, c)
	}
	return f
}

// drawInstall draws a snapshot ahead of the checkpoint, and behind the log's end or not.
func (m *script) drawInstall() *listed {
	ahead := m.r.Uint64N(max(uint64(m.durable.Last)+8, m.checkpointed+1) - m.checkpointed)
	f := &listed{Slot: m.checkpointed + 1 + ahead, Meta: fmt.Appendf(nil, "snapshot %d", m.n)}
	clear(m.stateDB)
	for i := range 60 {
		if m.r.IntN(4) > 0 {
			key, value := fmt.Sprintf("key%03d", i), m.value()
			f.Changes = append(f.Changes, kv.Change{Kind: kv.KindData, Key: []byte(key), Value: value})
			m.stateDB[key] = string(value)
		}
	}
	m.checkpointed = f.Slot
	d := &m.durable
	d.Truncated = max(d.Truncated, multipaxos.Slot(f.Slot))
	d.Chosen, d.Last = max(d.Chosen, d.Truncated), max(d.Last, d.Truncated)
	maps.DeleteFunc(m.entries, func(s multipaxos.Slot, _ multipaxos.Entry) bool { return s <= m.durable.Truncated })
	return f
}

// sum stands for the model's content, as storeSum does for a store's.
func (m *script) sum() string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%+v\n", m.durable)
	for slot := m.durable.Truncated + 1; slot <= m.durable.Last; slot++ {
		if e, ok := m.entries[slot]; ok {
			fmt.Fprintf(h, "%d %v %x\n", e.Slot, e.Ballot, e.Value)
		}
	}
	fmt.Fprintf(h, "%d\n", m.checkpointed)
	for i := range 400 {
		key := fmt.Sprintf("key%03d", i)
		if v, ok := m.stateDB[key]; ok {
			fmt.Fprintf(h, "%s %x\n", key, v)
		}
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

func storeSum(s *Store) (string, error) {
	h := fnv.New64a()
	fmt.Fprintf(h, "%+v\n", s.Durable())
	entries, err := s.Entries(0, ^multipaxos.Slot(0), 1<<40)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		fmt.Fprintf(h, "%d %v %x\n", e.Slot, e.Ballot, e.Value)
	}
	slot, _, err := s.Loaded()
	if err != nil {
		return "", err
	}
	fmt.Fprintf(h, "%d\n", slot)
	v, err := s.View()
	if err != nil {
		return "", err
	}
	defer v.Close()
	err = v.Ascend(kv.KindData, nil, func(k, value []byte) bool {
		fmt.Fprintf(h, "%s %x\n", k, value)
		return true
	})
	return strconv.FormatUint(h.Sum64(), 16), err
}

// crashChild is the other process. It opens the store in dir, reports its content, and goes on from there if the
// content is right.
func crashChild(dir string) int {
	seed, _ := strconv.ParseUint(os.Getenv(childSeedEnv), 10, 64)
	o := Options{
		LogInitialBytes: 32 << 10, LogGrowBytes: 64 << 10, JournalBytes: acceptor.MinJournalBytes,
		FlushBytes: 2 << 10 << (seed % 4),
		NoteAfter:  8 * time.Millisecond << (seed % 4), MapBytes: 1 << 30, CheckpointPartBytes: 2 << 10 << (seed % 4),
	}
	s, err := Open(dir, o)
	if err != nil {
		fmt.Printf("refused %v\n", err)
		return 1
	}
	sum, err := storeSum(s)
	if err != nil {
		fmt.Printf("refused %v\n", err)
		return 1
	}
	st := s.Stats()
	fmt.Printf("replayed %d %v %d %d\n", st.Replayed, st.CutOff, st.Resumed, st.Installed)
	fmt.Printf("opened %s\n", sum)
	m := newScript(seed)
	for from, _ := strconv.Atoi(os.Getenv(childFromEnv)); m.n < from; {
		m.next()
	}
	if m.sum() != sum {
		if m.next(); m.sum() != sum {
			return 1
		}
	}
	for range childOps {
		switch next := m.next(); {
		case next.checkpoint != nil:
			err = checkpoint(s, next.checkpoint)
		case next.install != nil:
			if s, err = installInChild(s, o, next.install); err != nil {
				// It does not end the store, whose next commit finds the disk stopped too.
				err = s.Commit([]multipaxos.Persist{{}})
			}
		default:
			err = s.Commit(next.commit)
		}
		if err != nil {
			break
		}
		fmt.Printf("done %d\n", m.n)
	}
	if err == nil {
		fmt.Printf("unhurt after %d operations: no fault reached the store\n", childOps)
		return 1
	}
	st = s.Stats()
	fmt.Printf("moved %d %d %d\n", st.JournalSyncs, st.Flushes, st.FlushedEntries)
	fmt.Printf("failed %v\n", err)
	after := s.Commit([]multipaxos.Persist{{}})
	_, read := s.Entries(1, 2, 1)
	_, viewed := s.View()
	fmt.Printf("sticky %v\n", errors.Is(err, ErrFailed) && after != nil && after.Error() == err.Error() &&
		read != nil && viewed != nil)
	return 0
}

// installInChild makes s receive a snapshot, and opens its directory again.
func installInChild(s *Store, o Options, f *listed) (*Store, error) {
	if !s.Identity().Formed {
		me := ident.Member{Node: 1, Store: s.Identity().Store}
		if err := s.Join(testCluster, 1, ident.Membership{Number: 1, Members: []ident.Member{me}}); err != nil {
			return s, err
		}
	}
	if err := sendTo(s, f); err != nil {
		return s, err
	}
	s.Close()
	next, err := Open(s.files.Dir, o)
	if err != nil {
		fmt.Printf("refused %v\n", err)
		os.Exit(1)
	}
	return next, nil
}

// sendTo makes s receive a snapshot of another store, whose only checkpoint is f.
func sendTo(s *Store, f *listed) error {
	dir, err := os.MkdirTemp("", "sender")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	from, err := Open(dir, small)
	if err != nil {
		return err
	}
	defer from.Close()
	me := ident.Member{Node: 2, Store: from.Identity().Store}
	err = errors.Join(from.Join(testCluster, 2, ident.Membership{Number: 1, Members: []ident.Member{me}}),
		from.Commit([]multipaxos.Persist{{Entries: []multipaxos.Entry{entry(int(f.Slot), 1, "")}}}), checkpoint(from, f))
	if err != nil {
		return err
	}
	v, err := from.Snapshot()
	if err != nil {
		return err
	}
	defer v.Close()
	r, err := s.Receive(v.Header())
	if err != nil {
		return err
	}
	for at, more := []byte(nil), true; more; more = len(at) > 0 {
		var piece []byte
		if piece, at, err = v.Piece(at, 5000); err == nil {
			err = r.Add(piece)
		}
		if err != nil {
			return errors.Join(err, r.Abort())
		}
	}
	return r.Finish()
}

// child is a running child, as its parent sees it.
type child struct {
	cmd   *exec.Cmd
	lines chan string // of its output; closed at its end
}

func (c *crashRun) startChild() *child {
	t := c.t
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childDirEnv+"="+c.dir, childSeedEnv+"="+strconv.FormatUint(c.seed, 10),
		childFromEnv+"="+strconv.Itoa(c.acked))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // no child outlives a test that was killed
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	ch := &child{cmd: cmd, lines: make(chan string)}
	go func() {
		defer close(ch.lines)
		for sc := bufio.NewScanner(out); sc.Scan(); {
			ch.lines <- sc.Text()
		}
	}()
	return ch
}

// kill ends the child and returns the lines that were left.
func (c *child) kill() (rest []string) {
	c.cmd.Process.Kill()
	for l := range c.lines {
		rest = append(rest, l)
	}
	c.cmd.Wait()
	return rest
}

// crashRun is a history of crashes of one store.
type crashRun struct {
	t     *testing.T
	fs    *faultfs.FS
	dir   string
	seed  uint64
	acked int // operations that the child said are durable

	replayed, cutOff, resumed, syncs, flushes, installed int // of all children
	sums                                                 map[int]string
	model                                                *script
}

func newCrashRun(t *testing.T, seed uint64) *crashRun {
	fs, dir := disktest.MountFaults(t)
	return &crashRun{t: t, fs: fs, dir: dir, seed: seed, model: newScript(seed), sums: map[int]string{}}
}

// sumAfter is the model's sum after n operations, which is never less than one less than in the call before.
func (c *crashRun) sumAfter(n int) string {
	for c.model.n < n {
		c.model.next()
	}
	if c.sums[n] == "" {
		c.sums[n] = c.model.sum()
	}
	return c.sums[n]
}

// round is a run that a loss of power ends. It returns what is wrong, or "".
func (c *crashRun) round(changes int, loss faultfs.Loss) string {
	wrong := c.run(changes)
	if _, err := c.fs.Crash(loss); err != nil {
		c.t.Fatal(err)
	}
	return wrong
}

// death is a run whose process dies, and the machine goes on: the next run finds the unsynced data, and loses it if the
// power fails then.
func (c *crashRun) death(changes int) string {
	wrong := c.run(changes)
	c.fs.EndHalt()
	return wrong
}

// run starts a child, checks what it finds, halts the disk after `changes` more changes, and kills it. It returns what
// is wrong, or "".
func (c *crashRun) run(changes int) string {
	halted := c.fs.Halt(changes)
	ch := c.startChild()
	opened, wrong := false, ""
	take := func(line string) {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "opened":
			opened = true
			if rest == c.sumAfter(c.acked) {
				break
			}
			if c.acked++; rest != c.sumAfter(c.acked) { // else it was durable, though nobody was told
				wrong = fmt.Sprintf("after %d operations the store holds something else", c.acked)
			}
		case "done":
			c.acked, _ = strconv.Atoi(rest)
		case "sticky":
			if rest != "true" {
				wrong = "an error was not final"
			}
		case "refused":
			// While the disk is stopped an Open fails; what it leaves must be good for the next one.
			select {
			case <-halted:
			default:
				wrong = rest
			}
		case "replayed":
			var n, resumed, installed int
			var cut bool
			fmt.Sscan(rest, &n, &cut, &resumed, &installed)
			if installed > 0 {
				c.installed++
			}
			c.replayed += n
			c.resumed += resumed
			if cut {
				c.cutOff++
			}
		case "moved":
			var syncs, flushes int
			fmt.Sscan(rest, &syncs, &flushes)
			c.syncs, c.flushes = c.syncs+syncs, c.flushes+flushes
		case "failed":
		default:
			wrong = line
		}
	}
	for line := range ch.lines {
		take(line)
		if strings.HasPrefix(line, "sticky") || wrong != "" {
			break
		}
	}
	for _, line := range ch.kill() {
		take(line)
	}
	if wrong == "" && !opened {
		select {
		case <-halted:
		default:
			wrong = "the child ended before it opened the store"
		}
	}
	return wrong
}

func TestCrashKeepsWhatWasAcknowledged(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 30
	}
	for name, loss := range map[string]faultfs.Loss{
		"all unsynced writes lost": {},
		"some survive":             {Keep: 0.5},
		"some survive torn":        {Keep: 0.7, Torn: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := testseed.Of(t) &^ installSeeds
			c := newCrashRun(t, seed)
			r := rand.New(rand.NewPCG(seed, 1))
			for i := range rounds {
				loss.Seed = seed + uint64(i)
				changes := 1 + r.IntN(100)
				if i%5 == 4 {
					changes = 200 + r.IntN(400) // far enough to grow, checkpoint and truncate
				}
				wrong := ""
				if i%3 == 1 {
					wrong = c.death(changes)
				}
				if wrong == "" {
					wrong = c.round(changes, loss)
				}
				if wrong != "" {
					t.Fatalf("round %d: %s", i, wrong)
				}
			}
			counts := c.fs.Counts()
			if c.acked < rounds || counts.Lost < rounds/2 {
				t.Fatalf("only %d operations were acknowledged and %d pages lost in %d rounds", c.acked, counts.Lost,
					rounds)
			}
			if c.replayed < rounds/20 || c.syncs < rounds || c.flushes < rounds/3 { // far below what is usual
				t.Errorf("%d records were replayed, %d synced and %d flushes made in %d rounds", c.replayed, c.syncs,
					c.flushes, rounds)
			}
			if !testing.Short() && c.resumed == 0 { // 8 to 24 are usual
				t.Errorf("no checkpoint was resumed in %d rounds", rounds)
			}
			t.Logf("%d operations acknowledged, %d unsynced pages lost or torn in %d rounds; %d records replayed, %d "+
				"cut off, %d checkpoints resumed, %d synced, %d flushes",
				c.acked, counts.Lost, rounds, c.replayed, c.cutOff, c.resumed, c.syncs, c.flushes)
		})
	}
}

// Unsynced data of a dead process must be synced before the next process builds upon it. That process works for a
// while, and then the power fails.
func TestUnsyncedStateIsNotBuiltUpon(t *testing.T) {
	histories, rounds := uint64(5), 60
	if testing.Short() {
		histories, rounds = 2, 15
	}
	for seed := range histories {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			c := newCrashRun(t, seed)
			r := rand.New(rand.NewPCG(seed, 2))
			for i := range rounds {
				wrong := c.death(1 + r.IntN(200))
				if wrong == "" {
					wrong = c.round(20+r.IntN(60), faultfs.Loss{})
				}
				if wrong != "" {
					t.Fatalf("round %d: %s", i, wrong)
				}
			}
		})
	}
}

// A snapshot is there whole or not at all, with the log that goes with it, wherever the power fails or the process dies
// while it is received, made durable, and installed.
func TestCrashAroundSnapshots(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	for i, loss := range []faultfs.Loss{{}, {Keep: 0.5}, {Keep: 0.7, Torn: true}} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			seed := testseed.Of(t) | installSeeds
			c := newCrashRun(t, seed)
			r := rand.New(rand.NewPCG(seed, 3))
			// In 40 rounds 2 to 6 snapshots are usual with the third loss, and 30 to 60 with the others. It goes on until there
			// is one.
			for i := 0; i < rounds || c.installed == 0 && !testing.Short() && i < 5*rounds; i++ {
				loss.Seed = seed + uint64(i)
				wrong := ""
				if i%3 == 1 {
					wrong = c.death(1 + r.IntN(250))
				}
				if wrong == "" {
					wrong = c.round(1+r.IntN(250), loss)
				}
				if wrong != "" {
					t.Fatalf("round %d: %s", i, wrong)
				}
			}
			if (c.installed == 0 && !testing.Short()) || c.acked < rounds/2 {
				t.Errorf("%d operations were acknowledged, and %d snapshots installed after a crash", c.acked, c.installed)
			}
			t.Logf("%d operations acknowledged, %d snapshots installed after a crash", c.acked, c.installed)
		})
	}
}

// With a disk that lies about syncs the same test must fail, or it could not see a store that does not sync.
func TestCrashTestSeesLostSyncs(t *testing.T) {
	c := newCrashRun(t, 1)
	if wrong := c.round(2000, faultfs.Loss{}); wrong != "" {
		t.Fatal(wrong)
	}
	for i := range 10 {
		c.fs.LieAboutSync(true)
		wrong := c.round(100+20*i, faultfs.Loss{})
		c.fs.LieAboutSync(false)
		if wrong == "" {
			wrong = c.round(1000, faultfs.Loss{})
		}
		if wrong != "" {
			t.Log("seen: ", wrong)
			return
		}
	}
	t.Fatal("ten times syncs did nothing and nobody noticed")
}

// Any error of the disk, in any file, ends the store. The next store finds all acknowledged operations: after a loss of
// power, and after a restart while only the page cache has some of the data.
func TestDiskErrorsAreFinal(t *testing.T) {
	for name, e := range map[string]struct {
		op    faultfs.Op
		errno syscall.Errno
	}{
		"sync fails":    {faultfs.Sync, syscall.EIO},
		"write fails":   {faultfs.Write, syscall.EIO},
		"disk is full":  {faultfs.Write, syscall.ENOSPC},
		"sync finds so": {faultfs.Sync, syscall.ENOSPC},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for through := range 2 * 6 { // operations that go through first: of the journal, of log.db, of state.db
				if testing.Short() && through%5 != 0 {
					continue
				}
				c := newCrashRun(t, 3)
				c.failAfter(e.op, through/2, e.errno)
				if through%2 == 0 {
					if _, err := c.fs.Crash(faultfs.Loss{}); err != nil {
						t.Fatal(err)
					}
				}
				for range 2 {
					if wrong := c.round(100, faultfs.Loss{}); wrong != "" {
						t.Fatalf("after %d operations: %s", through/2, wrong)
					}
				}
			}
		})
	}
}

// failAfter makes an operation of the disk fail once the child has done some work, and checks that the child ends.
func (c *crashRun) failAfter(op faultfs.Op, through int, errno syscall.Errno) {
	ch := c.startChild()
	var failed, sticky string
	for line := range ch.lines {
		if c.acked > 100 {
			break // it did not mind the errors
		}
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "done":
			c.acked, _ = strconv.Atoi(rest)
			if c.acked == 10 {
				c.fs.FailAfter(op, through, errno)
			}
		case "failed":
			failed = rest
		case "sticky":
			sticky = rest
		}
	}
	ch.kill()
	c.fs.SetError(op, 0)
	if sticky != "true" || !strings.Contains(failed, errno.Error()) || !strings.Contains(failed, ErrFailed.Error()) {
		c.t.Fatalf("the operation after %d failed with %q, final: %s", through, failed, sticky)
	}
}

// A disk that stalls holds a commit up and does nothing else.
func TestStalledDiskDelaysOnly(t *testing.T) {
	c := newCrashRun(t, 4)
	ch := c.startChild()
	stalled := false
	for line := range ch.lines {
		word, rest, _ := strings.Cut(line, " ")
		if word != "done" {
			continue
		}
		c.acked, _ = strconv.Atoi(rest)
		if c.acked == 10 {
			c.fs.Stall(300 * time.Millisecond)
			stalled = true
		}
		if c.acked == 30 {
			break
		}
	}
	ch.kill()
	if !stalled || c.fs.Counts().Waited == 0 || c.acked < 30 {
		t.Fatalf("stalled %v, %d operations waited, %d acknowledged", stalled, c.fs.Counts().Waited, c.acked)
	}
}
