package bench

import (
	"slices"
	"sync/atomic"
	"time"
)

// What goes to the master, once an answer has named it.
const (
	NearNone   = "none"
	NearWrites = "writes" // as the Go client does
	NearAll    = "all"    // and reads that are not stale
)

// Nears lists what may go to the master.
var Nears = []string{NearNone, NearWrites, NearAll}

// awayFor is for how long nothing goes to an endpoint because it is the master's, after a request to it has failed.
const awayFor = 10 * time.Second

// master is where the master is, as far as answers have named it. All clients share it.
type master struct {
	writes  bool           // they go there
	reads   bool           // likewise
	members []uint64       // the numbers of the nodes, by endpoint
	number  atomic.Uint64  // the master's, 0: none was named
	away    []atomic.Int64 // by endpoint: until when nothing goes there, in Unix nanoseconds
}

func newMaster(c *Config) *master {
	return &master{writes: c.Near == NearWrites || c.Near == NearAll, reads: c.Near == NearAll && c.Mode != Stale,
		members: c.Members, away: make([]atomic.Int64, len(c.Endpoints))}
}

// wants reports whether a request is for the master. A POST is about leases, which need none.
func (m *master) wants(method string) bool {
	return method == "GET" && m.reads || method == "PUT" && m.writes
}

// at returns the endpoint of the master, or -1.
func (m *master) at(now time.Time) int {
	number := m.number.Load()
	if number == 0 {
		return -1
	}
	i := slices.Index(m.members, number)
	if i >= 0 && now.UnixNano() < m.away[i].Load() {
		return -1
	}
	return i
}

// named takes the number of the master from an answer, 0: it names none.
func (m *master) named(number uint64) {
	if number != 0 && number != m.number.Load() {
		m.number.Store(number)
	}
}

// failed notes that a request to an endpoint has failed.
func (m *master) failed(endpoint int, now time.Time) {
	m.away[endpoint].Store(now.Add(awayFor).UnixNano())
}
