package runner

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"tenure/server/replica/elector"
)

// gapMeter measures what happened to the process between two steps of the lease loop. It makes two system calls a step,
// and neither waits. It belongs to the loop's thread.
type gapMeter struct {
	sched *os.File // the thread's schedstat; nil where there is none
	buf   [128]byte
	read0 reading
}

// reading is one look at what a gapMeter compares.
type reading struct {
	elapsed           time.Duration
	own               time.Time // by the process's own monotonic clock, which stands still during suspend
	processor, waited time.Duration
	faults            int64
}

// newGapMeter must run on the thread that it measures.
func newGapMeter() *gapMeter {
	m := &gapMeter{}
	m.sched, _ = os.Open("/proc/thread-self/schedstat") // without it Waited stays 0
	return m
}

func (m *gapMeter) close() {
	if m.sched != nil {
		_ = m.sched.Close()
	}
}

// read returns the gap since the last read; now is the elapsed clock.
func (m *gapMeter) read(now time.Duration) elector.Gap {
	r := reading{elapsed: now, own: time.Now(), waited: m.waited()}
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) == nil {
		r.processor, r.faults = time.Duration(u.Utime.Nano()+u.Stime.Nano()), int64(u.Majflt)
	}
	old := m.read0
	m.read0 = r
	if old.own.IsZero() {
		return elector.Gap{}
	}
	return elector.Gap{Jumped: max(0, (now-old.elapsed)-r.own.Sub(old.own)), Processor: r.processor - old.processor,
		Waited: r.waited - old.waited, Faults: r.faults - old.faults}
}

// waited is how long the thread has waited for a processor since its start: the second number of its schedstat.
func (m *gapMeter) waited() time.Duration {
	if m.sched == nil {
		return 0
	}
	n, _ := m.sched.ReadAt(m.buf[:], 0)
	fields := bytes.Fields(m.buf[:n])
	if len(fields) < 2 {
		return 0
	}
	ns, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(ns)
}
