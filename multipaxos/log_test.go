package multipaxos

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tenure/internal/ballot"
)

func TestRingIsAQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r ring[int]
		var want []int
		for i, push := range rapid.SliceOf(rapid.Bool()).Draw(t, "pushes") {
			if push || len(want) == 0 {
				r.push(i)
				want = append(want, i)
			} else if got := r.pop(); got != want[0] {
				t.Fatalf("popped %d, want %d", got, want[0])
			} else {
				want = want[1:]
			}
			c := r.clone()
			var got []int
			for j := range c.len() {
				got = append(got, *c.at(j))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("holds %v, want %v", got, want)
			}
		}
	})
	mustPanic(t, "reading beyond a ring", func() { (&ring[int]{}).at(0) })
}

// Eviction does not change what the log reads, in pages of the right size.
func TestReadJoinsDiskAndMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := Slot(rapid.IntRange(1, 30).Draw(t, "slots"))
		d := newDisk()
		l := entryLog{reader: d, base: 1}
		for s := Slot(1); s <= n; s++ {
			e := Entry{Slot: s, Ballot: by(2, 1), Value: make([]byte, rapid.IntRange(0, 5).Draw(t, "bytes"))}
			l.put(e, uint64(s))
			d.apply(Persist{Entries: []Entry{e}})
		}
		durable := rapid.Uint64Range(0, uint64(n)).Draw(t, "durable")
		chosen := Slot(rapid.Uint64Range(0, uint64(n)).Draw(t, "chosen"))
		l.evict(rapid.IntRange(0, 500).Draw(t, "cache"), chosen, durable)
		if l.base > min(chosen, Slot(durable))+1 {
			t.Fatalf("evicted to %d with %d chosen and %d durable", l.base, chosen, durable)
		}
		page := rapid.IntRange(1, 9).Draw(t, "page")
		next := Slot(rapid.Uint64Range(1, uint64(n)).Draw(t, "from"))
		for next <= n {
			es, err := l.read(next, n, page)
			if err != nil || len(es) == 0 {
				t.Fatalf("page from %d: %v, %v", next, es, err)
			}
			bytes := 0
			for _, e := range es {
				if e.Slot != next || bytes >= page {
					t.Fatalf("page from %d of %d bytes: %+v", next, page, es)
				}
				bytes += len(e.Value)
				next++
			}
		}
	})
}

func TestDamageIsReported(t *testing.T) {
	fresh := func() *disk {
		d := newDisk()
		d.promised, d.chosen, d.last = by(2, 1), 3, 4
		for _, e := range entries(by(2, 1), 1, "a", "b", "c", "d") {
			d.entries[e.Slot] = e
		}
		return d
	}
	ask := func(d *disk, f func(*Core) error) error {
		c, err := New(soloConfig(), base(3), d.durable(), d)
		if err != nil {
			return err
		}
		c.Applied(3)
		return f(c)
	}
	read := func(c *Core) error { _, err := c.ChosenEntries(1, 100); return err }
	fetch := func(c *Core) error { return c.Step(Message{Kind: KindFetch, From: 2, To: 1, Slot: 1}) }
	promise := func(c *Core) error { m := prepare(by(3, 2), 1); m.To = 1; return c.Step(m) }

	for _, f := range []func(*Core) error{read, fetch, promise} {
		if err := ask(fresh(), f); err != nil {
			t.Fatal(err)
		}
		d := fresh()
		delete(d.entries, 2)
		if err := ask(d, f); !errors.Is(err, ErrDamaged) {
			t.Errorf("a chosen entry is missing: %v", err)
		}
		d = fresh()
		d.chosen, d.truncated = 4, 0
		if err := ask(d, func(c *Core) error { d.err = errors.New("crc"); return f(c) }); !errors.Is(err, d.err) {
			t.Errorf("the disk fails: %v", err)
		}
	}
	d := fresh()
	d.promised = by(2, 0)
	if err := ask(d, read); !errors.Is(err, ErrDamaged) {
		t.Errorf("a vote above the promise: %v", err)
	}
	d = fresh()
	d.last = 2
	if err := ask(d, read); !errors.Is(err, ErrDamaged) {
		t.Errorf("chosen beyond the last entry: %v", err)
	}
	d = fresh()
	d.entries[4] = Entry{Slot: 4, Ballot: ballot.Ballot{}, Value: []byte("d")}
	if err := ask(d, read); !errors.Is(err, ErrDamaged) {
		t.Errorf("an entry without a ballot: %v", err)
	}
}

func TestStartLoadsWhatIsNotChosen(t *testing.T) {
	d := newDisk()
	d.promised, d.chosen, d.last = by(2, 9), 1, 4
	for _, e := range append(entries(by(2, 1), 1, "a", "b"), entries(by(3, 2), 4, "d")...) {
		d.entries[e.Slot] = e
	}
	cfg := soloConfig()
	cfg.PageBytes = 1
	s := newSolo(t, cfg, base(3), d)
	if s.Last() != 4 || s.Chosen() != 1 || s.SyncedThrough() != 1 || s.Promised() != by(2, 9) {
		t.Fatalf("last %d, chosen %d, synced %d, promised %v", s.Last(), s.Chosen(), s.SyncedThrough(), s.Promised())
	}
	s.step(Message{Kind: KindMark, From: 2, Ballot: by(2, 9), Chosen: 2})
	s.wantChosen(1, "slot 2 has another ballot")
	if s.one(s.step(prepare(by(3, 5), 1)), KindReject).Promised != by(2, 9) {
		t.Fatal("forgot its promise")
	}
}

func TestConfigValidate(t *testing.T) {
	if err := soloConfig().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"no node":        func(c *Config) { c.Self.Node = 0 },
		"endless node":   func(c *Config) { c.Self.Node = ballot.MaxNodeID + 1 },
		"no page":        func(c *Config) { c.PageBytes = 0 },
		"no window":      func(c *Config) { c.WindowEntries = 0 },
		"endless window": func(c *Config) { c.WindowEntries = maxWindow + 1 },
		"no bytes":       func(c *Config) { c.WindowBytes = 0 },
		"negative tail":  func(c *Config) { c.KeepBytes = -1 },
		"negative cache": func(c *Config) { c.CacheBytes = -1 },
	} {
		cfg := soloConfig()
		change(&cfg)
		if _, err := New(cfg, base(3), Durable{}, newDisk()); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// noEntries is a disk that has lost all entries.
type noEntries struct{}

func (noEntries) Entries(Slot, Slot, int) ([]Entry, error) { return nil, nil }

// A chosen slot that the disk does not have is damage.
func TestMissingChosenSlotsAreDamage(t *testing.T) {
	l := entryLog{reader: noEntries{}, base: 10}
	if page, _, err := l.readDisk(3, 7, 100); !errors.Is(err, ErrDamaged) {
		t.Errorf("%v, %v", page, err)
	}
}
