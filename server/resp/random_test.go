package resp

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"tenure/kv"
)

// Every key of a large store comes, also one behind many others.
func TestRandomKeyOfManyKeys(t *testing.T) {
	f := newFake(t)
	const all = 100_000
	fill(t, f, all, animal)
	s := dial(t, start(t, f, Config{}))
	const times, parts = 400, 4
	var of [parts]int
	for range times {
		s.send("randomkey")
		n, err := strconv.Atoi(strings.TrimPrefix(s.reply(), "a"))
		if err != nil {
			t.Fatal(err)
		}
		of[n*parts/all]++
	}
	for _, n := range of {
		if n < times/parts/3 {
			t.Errorf("%d draws from %d keys fall into quarters as %v", times, all, of)
		}
	}
}

// Every key has a chance, however their names lie: one begins another, some have gaps between them, one is longest.
func TestRandomKeyOfOddNames(t *testing.T) {
	f := newFake(t)
	want := map[string]int{"a": 0, "a/b": 0, "a/bb": 0, "a/b/c/d": 0, "b": 0, "é": 0, "世界": 0, "世": 0,
		strings.Repeat("z", 1024): 0, "zz": 0, "\x01": 0, "\x00": 0}
	for key := range want {
		f.apply(t, kv.Command{Op: kv.OpSet, Key: key, Value: []byte("v")})
	}
	snapshot, err := f.state.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	v := view{snapshot: snapshot, store: &store{listing: time.Minute}, began: time.Now()}
	missing := len(want)
	for i := 0; i < 200_000 && missing > 0; i++ {
		key, err := v.descend()
		n, known := want[key]
		if !known || err != nil {
			t.Fatalf("%q, %v", key, err)
		}
		if n == 0 {
			missing--
		}
		want[key]++
	}
	for key, n := range want {
		if n == 0 {
			t.Errorf("%.20q never comes", key)
		}
	}
}

// A store of few keys gives each the same chance, and a client only what it may read.
func TestRandomKeyOfFewKeys(t *testing.T) {
	g := newGuarded(t)
	g.may("few", `key_prefix "some/" { policy = "read" }`)
	fill(t, g.fake, 2000, farm)
	for i := range 4 {
		g.set(fmt.Sprint("some/", strings.Repeat("x", i*i*i)), "v")
	}
	s, seen := g.as("few"), map[string]int{}
	for range 400 {
		s.send("randomkey")
		seen[s.reply()]++
	}
	for key, n := range seen {
		if n < 50 || !strings.HasPrefix(key, "some/") {
			t.Errorf("%q comes %d times of 400", key, n)
		}
	}
	if len(seen) != 4 {
		t.Errorf("%v", seen)
	}
}
