package main

import (
	"context"
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/rs/zerolog"

	"tenure/internal/memlimit"
)

// limitMemory gives Go's collector a soft limit, unless GOMEMLIMIT is given, and says which one holds.
func limitMemory(logger zerolog.Logger) {
	l := limitOf(os.Getenv("GOMEMLIMIT"), os.DirFS("/"))
	if l.set {
		debug.SetMemoryLimit(l.soft)
	}
	l.tell(logger, debug.SetMemoryLimit(-1))
}

// memoryLimit is the soft limit of the collector that this program sets.
type memoryLimit struct {
	set  bool // else the runtime's own holds
	soft int64
	of   memlimit.Limit
}

// limitOf returns the limit to set where GOMEMLIMIT is given, or not if that is empty. root is the root of the file
// system.
func limitOf(given string, root fs.FS) memoryLimit {
	if given != "" { // "off" too: the runtime has read it
		return memoryLimit{}
	}
	of, ok := memlimit.Find(root)
	return memoryLimit{set: ok, soft: of.Soft(), of: of}
}

// tell logs the limit that holds.
func (l memoryLimit) tell(logger zerolog.Logger, holds int64) {
	switch {
	case holds == math.MaxInt64:
		logger.Info().Msg("Go's collector has no soft limit of memory")
	case !l.set:
		logger.Info().Int64("bytes", holds).Str("of", "GOMEMLIMIT").Msg("Go's collector has a soft limit of memory")
	case l.of.Bytes < memlimit.Least/3*4:
		logger.Warn().Int64("bytes", holds).Int64("allowed_bytes", l.of.Bytes).Str("of", l.of.File).
			Msg("this process may have less memory than a node under load needs: the kernel may end it")
	default:
		logger.Info().Int64("bytes", holds).Int64("allowed_bytes", l.of.Bytes).Str("of", l.of.File).
			Msg("Go's collector has a soft limit of memory")
	}
}

// A heap that was in use stays with the process until as much has been allocated anew, and a node with little to do
// allocates little: it would keep for hours what a minute of load took. So a node that has become quiet gives back what
// it does not use. That is one cycle of the collector, beside everything else, and costs some milliseconds of one
// processor. Under load nothing is given back but what Go's scavenger finds: it would be taken anew at once.
const (
	memoryEvery   = 10 * time.Second
	giveBackEvery = time.Minute
	quietBytes    = 8 << 20 // allocated in memoryEvery, at most
	worthBytes    = 6 << 20 // that are given back, about
)

// heapUse is what the runtime says of the heap.
type heapUse struct {
	allocated uint64 // bytes, since the start
	objects   uint64 // bytes of them that the collector has not freed
	live      uint64 // bytes of them that its last cycle found in use
	idle      uint64 // bytes of pages without objects that the system has not got back
}

// unused returns about how many bytes a cycle of the collector would set free for the system.
func (h heapUse) unused() uint64 { return h.idle + h.objects - min(h.live, h.objects) }

// giver decides when memory is given back.
type giver struct {
	before    uint64 // bytes allocated when it last looked
	looks     int    // since it last gave back
	mostLooks int    // after which it may again
}

func newGiver() giver {
	return giver{mostLooks: int(giveBackEvery / memoryEvery), looks: int(giveBackEvery / memoryEvery)}
}

// due takes the use of the heap once in memoryEvery, and reports whether it is time to give back.
func (g *giver) due(h heapUse) bool {
	quiet := h.allocated-g.before <= quietBytes
	g.before = h.allocated
	g.looks = min(g.looks+1, g.mostLooks)
	if !quiet || g.looks < g.mostLooks || h.unused() < worthBytes {
		return false
	}
	g.looks = 0
	return true
}

// giveBackMemory gives memory back to the system whenever the node is quiet.
func giveBackMemory(ctx context.Context) {
	g := newGiver()
	tick := time.NewTicker(memoryEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if g.due(readHeap()) {
			debug.FreeOSMemory()
		}
	}
}

// readHeap stops nothing, unlike runtime.ReadMemStats.
func readHeap() heapUse {
	s := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(s)
	return heapUse{allocated: s[0].Value.Uint64(), objects: s[1].Value.Uint64(), live: s[2].Value.Uint64(),
		idle: s[3].Value.Uint64()}
}
