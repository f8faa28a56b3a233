package state

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"tenure/kv"
)

// BenchmarkReads reads state databases of so many keys of 256 bytes: one key at random, in a view of its own as a
// client's get is, or in one that others share, and 100 keys in a row. The ones of bbolt read its map and check nothing
// but the record: what they cost more than these is the price of the checksums of pages.
func BenchmarkReads(b *testing.B) {
	for _, keys := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(keys), func(b *testing.B) {
			s := open(b, b.TempDir(), small)
			for from := 0; from < keys; from += 50_000 {
				checkpointKeys(b, s, 1, from, min(keys, from+50_000), strings.Repeat("v", 250))
			}
			benchReads(b, s, keys)
		})
	}
}

func benchReads(b *testing.B, s *testDB, keys int) {
	random := func(below int) []byte { return fmt.Appendf(nil, "key%06d", rand.IntN(below)) }
	run := func(name string, read func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			before := processorTime(b)
			for b.Loop() {
				must(b, read())
			}
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
	get := func(v kv.StateDB) error {
		value, err := v.Get(kv.KindData, random(keys))
		if err == nil && value == nil {
			err = fmt.Errorf("no value")
		}
		return err
	}
	list := func(v kv.StateDB) error {
		n := 0
		return v.Ascend(kv.KindData, random(keys-100), func(_, _ []byte) bool { n++; return n < 100 })
	}
	inView := func(read func(kv.StateDB) error) func() error {
		return func() error {
			v, err := s.View()
			if err != nil {
				return err
			}
			defer v.Close()
			return read(v)
		}
	}
	inBolt := func(read func(*bolt.Bucket) error) func() error {
		return func() error {
			return s.db.View(func(tx *bolt.Tx) error { return read(tx.Bucket(bucketNames[kv.KindData])) })
		}
	}
	shared, err := s.View()
	must(b, err)
	defer shared.Close()
	run("get", inView(get))
	run("getShared", func() error { return get(shared) })
	run("view", inView(func(kv.StateDB) error { return nil }))
	run("getOfBolt", inBolt(func(bucket *bolt.Bucket) error {
		key := random(keys)
		value, err := OpenRecord(kv.KindData, key, bucket.Get(key))
		_ = append([]byte(nil), value...)
		return err
	}))
	run("list100", inView(list))
	run("list100OfBolt", inBolt(func(bucket *bolt.Bucket) error {
		c, n := bucket.Cursor(), 0
		for key, record := c.Seek(random(keys - 100)); key != nil && n < 100; key, record = c.Next() {
			if _, err := OpenRecord(kv.KindData, key, record); err != nil {
				return err
			}
			n++
		}
		return nil
	}))
}

// processorTime is that of this process. On a machine that does other things too it says more than the clock.
func processorTime(b *testing.B) time.Duration {
	var u unix.Rusage
	must(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
