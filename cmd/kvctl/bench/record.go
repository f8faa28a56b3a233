package bench

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latencies are kept in microseconds, up to an hour, with three digits.
const (
	minLatencyUS = 1
	maxLatencyUS = int64(time.Hour / time.Microsecond)
	latencyDigit = 3
	shardCount   = 4 // each costs some 200 KiB for reads and as much for writes
)

// recorder counts what happens in the window [from, to). Its methods are safe for concurrent use.
type recorder struct {
	from, to time.Time
	shards   [shardCount]shard
}

// shard is the part of a recorder that some of the clients write to.
type shard struct {
	mu     sync.Mutex
	half   [2]half     // writes, reads
	at     [2][]uint64 // answered, by endpoint
	_      [64]byte
	failed [kinds]uint64
}

// half is what reads or writes came to.
type half struct {
	answered  uint64 // successes that came within the window
	latencies *hdrhistogram.Histogram
}

func newRecorder(from, to time.Time, endpoints int) *recorder {
	r := &recorder{from: from, to: to}
	for i := range r.shards {
		for j := range r.shards[i].half {
			r.shards[i].at[j] = make([]uint64, endpoints)
			r.shards[i].half[j].latencies = hdrhistogram.New(minLatencyUS, maxLatencyUS, latencyDigit)
		}
	}
	return r
}

// add notes an operation of a client at an endpoint that was due at from and over at to.
func (r *recorder) add(client, endpoint int, read bool, k kind, from, to time.Time) {
	due := !from.Before(r.from) && from.Before(r.to)
	answered := k == done && !to.Before(r.from) && to.Before(r.to)
	if !due && !answered {
		return
	}
	s := &r.shards[client%shardCount]
	s.mu.Lock()
	defer s.mu.Unlock()
	h, at := &s.half[0], s.at[0]
	if read {
		h, at = &s.half[1], s.at[1]
	}
	if answered {
		h.answered++
		at[endpoint]++
	}
	switch {
	case !due:
	case k == done:
		us := min(max(to.Sub(from).Microseconds(), minLatencyUS), maxLatencyUS)
		_ = h.latencies.RecordValue(us) // it is within the bounds
	default:
		s.failed[k]++
	}
}

// miss notes n operations that were never sent.
func (r *recorder) miss(n uint64) {
	s := &r.shards[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed[notSent] += n
}

// total merges the shards. It may be called while operations are added.
func (r *recorder) total() (halves [2]half, failed [kinds]uint64) {
	for i := range halves {
		halves[i].latencies = hdrhistogram.New(minLatencyUS, maxLatencyUS, latencyDigit)
	}
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		for j := range halves {
			halves[j].answered += s.half[j].answered
			halves[j].latencies.Merge(s.half[j].latencies)
		}
		for k, n := range s.failed {
			failed[k] += n
		}
		s.mu.Unlock()
	}
	return halves, failed
}

// answeredAt returns how many writes and reads an endpoint has answered within the window.
func (r *recorder) answeredAt(endpoint int) (writes, reads uint64) {
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		writes, reads = writes+s.at[0][endpoint], reads+s.at[1][endpoint]
		s.mu.Unlock()
	}
	return writes, reads
}

// counts is total without the latencies, which are dear to merge.
func (r *recorder) counts() (answered, failed uint64) {
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		answered += s.half[0].answered + s.half[1].answered
		for _, n := range s.failed {
			failed += n
		}
		s.mu.Unlock()
	}
	return answered, failed
}
