package etcdsnap

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
	"google.golang.org/protobuf/encoding/protowire"
)

// put is a revision as etcd writes it.
type put struct {
	main, sub  uint64
	key, value string
	lease      uint64
	deleted    bool
}

func (p put) record() (key, record []byte) {
	key = binary.BigEndian.AppendUint64(nil, p.main)
	key = binary.BigEndian.AppendUint64(append(key, '_'), p.sub)
	if p.deleted {
		key = append(key, 't')
	}
	record = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), []byte(p.key))
	if p.deleted {
		return key, record
	}
	for field, v := range map[protowire.Number]uint64{2: p.main, 3: p.main, 4: 1} {
		record = protowire.AppendVarint(protowire.AppendTag(record, field, protowire.VarintType), v)
	}
	record = protowire.AppendBytes(protowire.AppendTag(record, 5, protowire.BytesType), []byte(p.value))
	if p.lease != 0 {
		record = protowire.AppendVarint(protowire.AppendTag(record, 6, protowire.VarintType), p.lease)
	}
	return key, record
}

// snapshot makes a snapshot as etcd does: of a database that it has written to in several transactions.
func snapshot(t testing.TB, puts ...put) []byte {
	t.Helper()
	db, err := bolt.Open(filepath.Join(t.TempDir(), "db"), 0o600, &bolt.Options{NoFreelistSync: true, NoSync: true})
	must(t, err)
	defer db.Close()
	for _, name := range []string{"key", "lease", "meta", "members", "auth"} {
		must(t, db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte(name))
			if err != nil || name == "key" {
				return err
			}
			return b.Put([]byte("something"), []byte("else"))
		}))
	}
	must(t, db.Update(func(tx *bolt.Tx) error {
		for _, p := range puts {
			key, record := p.record()
			if err := tx.Bucket([]byte("key")).Put(key, record); err != nil {
				return err
			}
		}
		return nil
	}))
	var out bytes.Buffer
	must(t, db.View(func(tx *bolt.Tx) error { _, err := tx.WriteTo(&out); return err }))
	return out.Bytes()
}

func summed(b []byte) []byte {
	sum := sha256.Sum256(b)
	return append(bytes.Clone(b), sum[:]...)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(b []byte) (s *Snapshot, found string, err error) {
	s, err = Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, "", err
	}
	err = s.Each(func(kv KeyValue) error {
		found += fmt.Sprintf("%s=%s", kv.Key, kv.Value)
		if kv.Leased {
			found += "(leased)"
		}
		found += " "
		return nil
	})
	return s, found, err
}

var some = []put{
	{main: 2, key: "a", value: "1"}, {main: 3, key: "b", value: "2"}, {main: 4, key: "c", value: "3", lease: 77},
	{main: 5, key: "a", value: "4"}, {main: 6, sub: 0, key: "b", deleted: true}, {main: 7, key: "d", deleted: true},
	{main: 8, sub: 0, key: "e", value: "5"}, {main: 8, sub: 1, key: "e", value: "6"}, {main: 8, sub: 2, key: "f", value: ""},
	{main: 9, key: "g", deleted: true}, {main: 10, key: "g", value: "\xff"},
}

func TestTheNewestRevisionOfEachKeyCounts(t *testing.T) {
	b := snapshot(t, some...)
	for want, file := range map[bool][]byte{false: b, true: summed(b)} {
		s, found, err := read(file)
		if err != nil || found != "c=3(leased) a=4 e=6 f= g=\xff " || s.Revision != 10 || s.Summed != want {
			t.Errorf("%q, %+v, %v", found, s, err)
		}
	}
}

func TestManyKeys(t *testing.T) {
	var puts []put
	for i := range uint64(20_000) {
		puts = append(puts, put{main: 2 + i, key: fmt.Sprintf("key%05d", i%7000), value: fmt.Sprint(i)})
	}
	b := summed(snapshot(t, puts...))
	s, err := Open(bytes.NewReader(b), int64(len(b)))
	must(t, err)
	n := 0
	must(t, s.Each(func(kv KeyValue) error {
		n++
		var i int
		if fmt.Sscan(string(kv.Value), &i); i < 13_000 || string(kv.Key) != fmt.Sprintf("key%05d", i%7000) {
			return fmt.Errorf("%s=%s", kv.Key, kv.Value)
		}
		return nil
	}))
	if n != 7000 {
		t.Errorf("%d keys", n)
	}
	broken := errors.New("broken")
	if err := s.Each(func(KeyValue) error { return broken }); err != broken {
		t.Error(err)
	}
}

// TestWhatIsNoSnapshotIsAnError, and never a panic: bbolt itself would die of some of these files.
func TestWhatIsNoSnapshotIsAnError(t *testing.T) {
	plain := snapshot(t, some...)
	whole := summed(plain)
	check := func(what string, b []byte) {
		if _, found, err := read(b); err == nil || !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %q, %v", what, found, err)
		}
	}
	for i := 0; i < len(whole); i += 61 {
		flipped := bytes.Clone(whole)
		flipped[i] ^= 1 << (i % 8)
		check(fmt.Sprintf("bit of byte %d flipped", i), flipped)
	}
	for i := 0; i < len(plain); i += 512 { // at its end it is whole, without a sum
		check(fmt.Sprintf("cut off at byte %d", i), whole[:i])
	}
	check("empty", nil)
	check("text", []byte("hello"))
	check("zeros", make([]byte, 1<<16))
	check("no keys", snapshot(t))
	for i := range plain { // without a sum only the shape can tell: it must not panic
		if i%7 == 0 {
			flipped := bytes.Clone(plain)
			flipped[i] ^= 1 << (i % 8)
			_, _, _ = read(flipped)
		}
	}
	file, err := os.Open(t.TempDir())
	must(t, err)
	defer file.Close()
	if _, err := Open(file, 4096); !errors.Is(err, ErrDamaged) {
		t.Errorf("a directory: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(snapshot(f, some...))
	f.Fuzz(func(t *testing.T, b []byte) { _, _, _ = read(b) })
}
