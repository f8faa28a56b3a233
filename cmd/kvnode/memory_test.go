package main

import (
	"bytes"
	"math"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rs/zerolog"
)

func rootWith(memoryMax string) fstest.MapFS {
	return fstest.MapFS{
		"proc/meminfo":             {Data: []byte("MemTotal: 8388608 kB\n")},
		"proc/self/cgroup":         {Data: []byte("0::/\n")},
		"proc/self/mountinfo":      {Data: []byte("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")},
		"sys/fs/cgroup/memory.max": {Data: []byte(memoryMax + "\n")},
	}
}

// The soft limit is three quarters of the container's memory or the machine's, and what is given in GOMEMLIMIT wins.
func TestSoftLimitOfMemory(t *testing.T) {
	for name, c := range map[string]struct {
		given string
		root  fstest.MapFS
		set   bool
		soft  int64
		log   []string // parts of the line about it
	}{
		"machine": {"", rootWith("max"), true, 6 << 30,
			[]string{`"info"`, `"/proc/meminfo"`, `"allowed_bytes":8589934592`}},
		"container": {"", rootWith("1073741824"), true, 768 << 20,
			[]string{`"info"`, `"/sys/fs/cgroup/memory.max"`, `:805306368`}},
		"too small": {"", rootWith("67108864"), true, 128 << 20,
			[]string{`"warn"`, "may end it", `"allowed_bytes":67108864`}},
		"GOMEMLIMIT": {"100MiB", rootWith("1073741824"), false, 100 << 20,
			[]string{`"info"`, `"of":"GOMEMLIMIT"`, ":104857600"}},
		"GOMEMLIMIT=off": {"off", rootWith("1073741824"), false, math.MaxInt64,
			[]string{`"info"`, "no soft limit"}},
		"nothing to be read": {"", fstest.MapFS{}, false, math.MaxInt64,
			[]string{`"info"`, "no soft limit"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := limitOf(c.given, c.root)
			if l.set != c.set || l.set && l.soft != c.soft {
				t.Fatalf("set %v, %d bytes; want %v, %d", l.set, l.soft, c.set, c.soft)
			}
			var log bytes.Buffer
			l.tell(zerolog.New(&log), c.soft)
			for _, want := range c.log {
				if !strings.Contains(log.String(), want) {
					t.Errorf("the log lacks %q: %s", want, &log)
				}
			}
		})
	}
}

// limitMemory changes the limit of this process only where GOMEMLIMIT is not given.
func TestLimitMemoryHeedsTheEnvironment(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	for given, want := range map[string]bool{"": true, "off": false, "1GiB": false} {
		t.Setenv("GOMEMLIMIT", given)
		debug.SetMemoryLimit(math.MaxInt64)
		limitMemory(zerolog.Nop())
		if got := debug.SetMemoryLimit(-1) != math.MaxInt64; got != want {
			t.Errorf("with GOMEMLIMIT=%q a limit was set: %v", given, got)
		}
	}
}

// Memory is given back when the node has become quiet and much is unused: not under load, and once a minute at most.
func TestMemoryIsGivenBackWhenQuiet(t *testing.T) {
	const mib = 1 << 20
	g := newGiver()
	looks := int(giveBackEvery / memoryEvery)
	h := heapUse{allocated: 1000 * mib, objects: 30 * mib, live: 15 * mib, idle: 20 * mib}
	if g.due(h) {
		t.Fatal("under load")
	}
	for range 2 * looks {
		h.allocated += 100 * mib
		if g.due(h) {
			t.Fatal("under load")
		}
	}
	h.allocated += mib
	if !g.due(h) {
		t.Fatal("not when it became quiet")
	}
	for range looks - 1 {
		if g.due(h) {
			t.Fatal("again within a minute")
		}
	}
	if !g.due(h) {
		t.Fatal("not after a minute")
	}
	h.objects, h.idle = h.live+mib, mib
	for range 3 * looks {
		if g.due(h) {
			t.Fatal("although little is unused")
		}
	}
	if h.objects = h.live - mib; g.due(h) { // what was freed since
		t.Fatal("although less is in use than the last cycle found")
	}
}

// The runtime knows what is asked of it.
func TestReadHeap(t *testing.T) {
	debug.FreeOSMemory()
	kept := make([]byte, 32<<20)
	before := readHeap()
	if before.objects < uint64(len(kept)) || before.allocated < before.objects || before.live == 0 {
		t.Fatalf("%+v", before)
	}
	kept = nil
	debug.FreeOSMemory()
	if after := readHeap(); after.objects+uint64(24<<20) > before.objects || after.unused() > 16<<20 {
		t.Fatalf("%+v after %+v", after, before)
	}
}
