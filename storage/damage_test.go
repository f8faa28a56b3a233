package storage

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/internal/testseed"
	"tenure/kv"
	"tenure/storage/internal/acceptor"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/disktest"
)

var damageTrials = flag.Int("damage-trials", 0, "how many changes TestPlantedDamageIsNeverServed plants; "+
	"0: 300, or 60 with -short")

// stateDBModel is what a state database should hold.
type stateDBModel map[kv.RecordKind]map[string]string

func (m stateDBModel) clone() stateDBModel {
	out := stateDBModel{}
	for kind, records := range m {
		out[kind] = map[string]string{}
		for k, v := range records {
			out[kind][k] = v
		}
	}
	return out
}

func (m stateDBModel) apply(f *listed) stateDBModel {
	out := m.clone()
	for _, c := range f.Changes {
		if out[c.Kind] == nil {
			out[c.Kind] = map[string]string{}
		}
		if delete(out[c.Kind], string(c.Key)); c.Value != nil {
			out[c.Kind][string(c.Key)] = string(c.Value)
		}
	}
	return out
}

func (m stateDBModel) keys(kind kv.RecordKind) []string {
	return slices.Sorted(maps.Keys(m[kind]))
}

// damageBed is a directory that is put back after each trial.
type damageBed struct {
	t     *testing.T
	dir   string
	files map[string][]byte
	older []byte // state.db some checkpoints before
	model stateDBModel
}

func newDamageBed(t *testing.T) *damageBed {
	b := &damageBed{t: t, dir: t.TempDir(), files: map[string][]byte{}, model: stateDBModel{}}
	s := formed(t, b.dir)
	logTo(t, s, 1)
	checkpoint := func(from, to, step, valueBytes int, kind kv.RecordKind) {
		f := &listed{Slot: 1, Meta: []byte("meta")}
		for i := from; i < to; i += step {
			value := fmt.Appendf(nil, "%d of %d %s", i, valueBytes, strings.Repeat("v", valueBytes))
			f.Changes = append(f.Changes, kv.Change{Kind: kind, Key: fmt.Appendf(nil, "key/%06d", i), Value: value})
		}
		must(t, checkpoint(s, f))
		b.model = b.model.apply(f)
	}
	checkpoint(0, 5000, 1, 30, kv.KindData)
	checkpoint(500, 520, 1, 9000, kv.KindData)
	checkpoint(0, 200, 1, 20, kv.KindDedup)
	checkpoint(0, 4, 1, 4, 7) // a bucket inside its header
	b.older = readFile(t, s.files.StatePath())
	for i := range 6 {
		checkpoint(i, 5000, 13, 40+i, kv.KindData)
	}
	must(t, s.Close())
	for _, name := range []string{disk.LogName, disk.StateName, disk.SumsName, disk.JournalName} {
		b.files[name] = readFile(t, filepath.Join(b.dir, name))
	}
	return b
}

// putBack restores the files from before the trial. It makes state.db a new file: a store whose bbolt has panicked
// keeps the old one open and locked until its process ends.
func (b *damageBed) putBack() {
	must(b.t, os.Remove(filepath.Join(b.dir, disk.StateName)))
	must(b.t, os.WriteFile(filepath.Join(b.dir, disk.StateName), nil, 0o600))
	for name, text := range b.files {
		overwrite(b.t, filepath.Join(b.dir, name), text)
	}
	if err := os.Remove(filepath.Join(b.dir, disk.RedoName)); err != nil && !os.IsNotExist(err) {
		b.t.Fatal(err)
	}
}

// freePages are the pages that the newest free list in text names; none if a checkpoint writes it just now.
func freePages(t *testing.T, text []byte) map[uint64]bool {
	free := map[uint64]bool{}
	order := binary.NativeEndian
	newest, _ := disktest.MetaAt(t, text)
	list := text[order.Uint64(text[newest+disktest.HeadBytes+32:])*4096:]
	n, ids := uint64(disktest.RawPage{Data: list}.Count()), list[disktest.HeadBytes:]
	if n == 0xffff { // the count has no place in the header
		n, ids = order.Uint64(ids), ids[8:]
	}
	for ; n > 0 && len(ids) >= 8; n-- {
		free[order.Uint64(ids)] = true
		ids = ids[8:]
	}
	return free
}

// plant changes the file at path at random, and says how.
func (b *damageBed) plant(r *rand.Rand, path string) string {
	t := b.t
	text := readFile(t, path)
	end := disktest.Used(t, text) / 4096
	free := freePages(t, text)
	at := func(off int, put []byte) {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		must(t, err)
		_, err = f.WriteAt(put, int64(off))
		must(t, err)
		must(t, f.Close())
	}
	kindOf := func(flags uint16) int { // a page of a kind, in use more often than not
		for range 200 {
			id := r.IntN(end)
			if p := disktest.RawPageOf(text, id); p.Has(flags) && p.Count() > 0 && !free[uint64(id)] {
				return id
			}
		}
		return r.IntN(end)
	}
	id := kindOf([]uint16{disktest.Leaf, disktest.Leaf, disktest.Branch, disktest.Freelist}[r.IntN(4)])
	whole := bytes.Clone(text[id*4096 : (id+1)*4096])
	p := disktest.RawPage{ID: uint64(id), Data: whole}
	element := disktest.HeadBytes + disktest.ElementBytes*r.IntN(max(1, min(p.Count(), 200)))
	switch kind := r.IntN(13); kind {
	case 0: // a count that is lower by one, or lost a bit
		n := p.Count() - 1
		if r.IntN(2) == 0 {
			n = p.Count() ^ 1<<r.IntN(9)
		}
		p.SetCount(n)
		at(id*4096, whole)
		return fmt.Sprintf("page %d: count %d", id, n)
	case 1: // a header field
		i := r.IntN(disktest.HeadBytes)
		whole[i] ^= 1 << r.IntN(8)
		at(id*4096, whole)
		return fmt.Sprintf("page %d: header byte %d", id, i)
	case 2: // an element
		i := element + r.IntN(disktest.ElementBytes)
		whole[i%4096] ^= 1 << r.IntN(8)
		at(id*4096, whole)
		return fmt.Sprintf("page %d: element byte %d", id, i)
	case 3: // a byte of a key
		if i := bytes.Index(whole[r.IntN(2048):], []byte("key/")); i >= 0 {
			i = bytes.Index(whole, []byte("key/")) + r.IntN(10)
			whole[i] ^= 1 << r.IntN(3)
			at(id*4096, whole)
			return fmt.Sprintf("page %d: key byte %d", id, i)
		}
		fallthrough
	case 4: // any byte
		i := r.IntN(4096)
		whole[i] ^= 1 << r.IntN(8)
		at(id*4096, whole)
		return fmt.Sprintf("page %d: byte %d", id, i)
	case 5:
		at(id*4096, make([]byte, 4096))
		return fmt.Sprintf("page %d: zeros", id)
	case 6: // two pages, each with the id of the place where it is put
		other := kindOf(disktest.Leaf)
		second := bytes.Clone(text[other*4096 : (other+1)*4096])
		p.SetID(uint64(other))
		disktest.RawPage{Data: second}.SetID(uint64(id))
		at(id*4096, second)
		at(other*4096, whole)
		return fmt.Sprintf("pages %d and %d: swapped", id, other)
	case 7, 8: // an older copy
		for range 200 {
			if (id+1)*4096 <= len(b.older) && !bytes.Equal(b.older[id*4096:(id+1)*4096], text[id*4096:(id+1)*4096]) {
				break
			}
			id = kindOf(disktest.Leaf)
		}
		if (id+1)*4096 <= len(b.older) {
			at(id*4096, b.older[id*4096:(id+1)*4096])
		}
		return fmt.Sprintf("page %d: an older copy", id)
	case 9: // cut short
		n := r.IntN(end)
		must(t, os.Truncate(path, int64(n)*4096+int64(r.IntN(4096))))
		return fmt.Sprintf("truncated at page %d", n)
	case 10: // meta pages
		which := r.IntN(3)
		for i := range 2 {
			if which == i || which == 2 {
				at(i*4096+disktest.HeadBytes+r.IntN(disktest.MetaBytes), []byte{byte(r.IntN(256))})
			}
		}
		return fmt.Sprintf("meta pages %d", which)
	case 11: // the file as it was, but for its end
		at(0, b.older[:min(len(b.older), len(text))])
		return "an older copy of the file"
	default: // random bytes over half of the page
		for i := range 2048 {
			whole[1024+i] = byte(r.Uint32())
		}
		at(id*4096, whole)
		return fmt.Sprintf("page %d: noise", id)
	}
}

// ask reads keys and listings at random, all of them if whole is set. It returns an error, or what was answered
// wrongly.
func (b *damageBed) ask(r *rand.Rand, s *Store, m stateDBModel, whole bool) (wrong string, err error) {
	v, err := s.View()
	if err != nil {
		return "", err
	}
	defer v.Close()
	scan := func(kind kv.RecordKind, falling bool, limit int) (string, error) {
		want := m.keys(kind)
		var got []string
		fn := func(k, value []byte) bool {
			if m[kind][string(k)] != string(value) {
				got = append(got, fmt.Sprintf("%s=%.20s", k, value))
			} else {
				got = append(got, string(k))
			}
			return len(got) < limit
		}
		from := r.IntN(len(want))
		if whole {
			from = 0
		}
		if falling {
			slices.Reverse(want)
			if from == 0 {
				err = v.Descend(kind, nil, fn)
			} else {
				err = v.Descend(kind, []byte(want[from-1]), fn)
			}
		} else {
			err = v.Ascend(kind, []byte(want[from]), fn)
		}
		if want = want[from:]; len(want) > limit {
			want = want[:limit]
		}
		if err == nil && !slices.Equal(got, want) {
			return fmt.Sprintf("a listing of kind %d from %q has %d keys and should have %d, or not these", kind,
				want[0], len(got), len(want)), nil
		}
		return "", err
	}
	get := func(kind kv.RecordKind, key string) (string, error) {
		want, there := m[kind][key]
		got, err := v.Get(kind, []byte(key))
		if err == nil && (there != (got != nil) || want != string(got)) {
			return fmt.Sprintf("%q of kind %d is %.20q and should be %.20q", key, kind, got, want), nil
		}
		return "", err
	}
	spaces := []kv.RecordKind{kv.KindData, kv.KindDedup, 7}
	if !whole {
		for range 8 {
			kind := spaces[r.IntN(len(spaces))]
			key := fmt.Sprintf("key/%06d", r.IntN(5100)) // some are not there
			if wrong, err := get(kind, key); wrong != "" || err != nil {
				return wrong, err
			}
			if wrong, err := scan(kind, r.IntN(2) == 0, 1+r.IntN(50)); wrong != "" || err != nil {
				return wrong, err
			}
		}
		return "", nil
	}
	for _, kind := range spaces {
		for _, falling := range []bool{false, true} {
			if wrong, err := scan(kind, falling, 1<<30); wrong != "" || err != nil {
				return wrong, err
			}
		}
		for _, key := range m.keys(kind) {
			if wrong, err := get(kind, key); wrong != "" || err != nil {
				return wrong, err
			}
		}
	}
	return "", nil
}

// someCheckpoint deletes and writes keys: near each other, so that pages become empty and are joined, or anywhere.
func someCheckpoint(r *rand.Rand) *listed {
	f := &listed{Slot: 1, Meta: []byte("later")}
	step, n, from := 1+r.IntN(40), 1+r.IntN(200), r.IntN(4500)
	for i := range n {
		c := kv.Change{Kind: kv.KindData, Key: fmt.Appendf(nil, "key/%06d", from+i*step)}
		if r.IntN(3) == 0 {
			c.Value = []byte(strings.Repeat("new", r.IntN(100)))
		}
		f.Changes = append(f.Changes, c)
	}
	return f
}

// trial plants one change in the file of a store that is open. It returns what was done and what came of it.
func (b *damageBed) trial(r *rand.Rand) (what, outcome string) {
	t := b.t
	s := open(t, b.dir, Options{LogInitialBytes: 64 << 10, JournalBytes: acceptor.MinJournalBytes,
		CheckpointPartBytes: 1 << (10 + r.IntN(12))})
	defer s.Close()
	m := b.model
	if r.IntN(2) == 0 { // pages are in memory already
		if wrong, err := b.ask(r, s, m, r.IntN(3) == 0); wrong != "" || err != nil {
			t.Fatalf("before: %s %v", wrong, err)
		}
	}
	f := someCheckpoint(r)
	order := r.IntN(3)
	checkpointed := make(chan error, 1)
	if order == 0 { // while a checkpoint runs
		go func() { checkpointed <- checkpoint(s, f) }()
		time.Sleep(time.Duration(r.IntN(4000)) * time.Microsecond)
	}
	what = b.plant(r, s.files.StatePath())
	steps := []func() (string, error){
		func() (string, error) { return b.ask(r, s, m, false) },
		func() (string, error) { return b.ask(r, s, m, true) },
	}
	checkpoint := func() (string, error) {
		if order != 0 {
			checkpointed <- checkpoint(s, f)
		}
		if err := <-checkpointed; err != nil {
			return "", err
		}
		m = m.apply(f)
		return "", nil
	}
	switch order {
	case 0:
		steps = slices.Insert(steps, 0, checkpoint)
	case 1:
		steps = slices.Insert(steps, r.IntN(2), checkpoint)
	}
	for i, step := range steps {
		wrong, err := step()
		if wrong != "" {
			t.Errorf("%s, order %d, step %d: %s", what, order, i, wrong)
			return what, "wrong"
		}
		if err != nil {
			wantError(t, err, ErrDamaged, disk.StateName)
			if _, err := s.View(); err == nil {
				t.Errorf("%s: the store goes on after it has seen damage", what)
			}
			return what, "noticed"
		}
	}
	return what, b.afterwards(what, s, m)
}

// afterwards scrubs a store that has answered everything, and opens it again: it is as it should be, or refused.
func (b *damageBed) afterwards(what string, s *Store, m stateDBModel) string {
	scrubbed := s.Scrub(b.t.Context(), 1<<40)
	s.Close()
	again, err := Open(b.dir, small)
	if err != nil {
		if scrubbed == nil {
			b.t.Errorf("%s: the scrub sees nothing, and the next start %v", what, err)
		}
		return "noticed by the scrub"
	}
	defer again.Close()
	if wrong, err := b.ask(rand.New(rand.NewPCG(1, 1)), again, m, true); wrong != "" || err != nil {
		b.t.Errorf("%s: after the next start: %s %v", what, wrong, err)
	}
	return "harmless"
}

// Whatever changes in state.db while it is open, no answer is wrong: each is right, or an error that ends the store. No
// checkpoint makes damage whole.
func TestPlantedDamageIsNeverServed(t *testing.T) {
	t.Parallel()
	seed, trials := testseed.Of(t), *damageTrials
	if trials == 0 {
		trials = 300
		if testing.Short() {
			trials = 60
		}
	}
	b := newDamageBed(t)
	outcomes := map[string]int{}
	for i := range trials {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		what, outcome := b.trial(r)
		outcomes[outcome]++
		if t.Failed() {
			t.Fatalf("trial %d: %s", i, what)
		}
		b.putBack()
	}
	t.Logf("%d changes: %v", trials, outcomes)
	if outcomes["noticed"]+outcomes["noticed by the scrub"] < trials/2 {
		t.Error("that is not what a test of damage looks like")
	}
}
