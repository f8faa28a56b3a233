package clock

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// suspendStep is the least growth of the suspend offset that is believed to be a suspend. It bounds the error of
	// the kept offset for good: the comparison is with the whole offset, so small errors do not add up.
	suspendStep = int64(time.Millisecond)
	// bracketWidth is how far apart the two monotonic readings around a boot time reading may be for the difference
	// to count as measured.
	bracketWidth = int64(20 * time.Microsecond)
	// bracketTries bounds the search for such a pair. When it runs out the narrowest pair stands, and its width is
	// the error.
	bracketTries = 256
)

// source reads CLOCK_MONOTONIC_RAW + (CLOCK_BOOTTIME − CLOCK_MONOTONIC). RAW is the hardware's rate, which NTP does
// not touch, but it stands still during suspend. The other two are slewed alike, so their difference is free of it:
// it is the time spent suspended, and changes only when the machine wakes.
//
// The two cannot be read at once. If a thread loses its processor between them, the difference is wrong by the time
// that the thread did not run. Neither direction is harmless:
//   - With a reading that is too high an acceptor drops its exclusion before the owner's deadline. A proposer that
//     starts an attempt with it sets a deadline beyond the time for which acceptors exclude others.
//   - With a reading that is too low an owner acts past its deadline. An acceptor that records a lease with it excludes
//     others for too short a time.
//
// So the offset is kept, and replaced only on a measurement between two monotonic readings that are close together,
// and only if it grew by suspendStep or more. A reading that is merely old is no harm as long as it is of an instant
// within the call: the thread may as well lose its processor after it.
type source struct {
	suspended atomic.Int64            // the kept offset, in ns; never falls
	gettime   func(clock int32) int64 // ns
}

func (s *source) init() {
	if s.gettime == nil {
		s.gettime = gettime
	}
	s.suspended.Store(s.measure())
}

// read takes RAW first. If the machine is suspended between the readings, the sum is the time just before or just
// after it, both within the call.
func (s *source) read() time.Duration {
	raw := s.gettime(unix.CLOCK_MONOTONIC_RAW)
	mono := s.gettime(unix.CLOCK_MONOTONIC)
	boot := s.gettime(unix.CLOCK_BOOTTIME)
	// The monotonic reading comes first, so the difference can be too large but not too small: below the bound,
	// there was no suspend that the kept offset lacks.
	known := s.suspended.Load()
	if boot-mono < known+suspendStep {
		return time.Duration(raw + known)
	}
	return time.Duration(raw + s.resumed())
}

// slept returns the kept offset.
func (s *source) slept() time.Duration { return time.Duration(s.suspended.Load()) }

// resumed decides whether the machine was suspended or only this thread lost its processor, and returns the offset to
// use.
func (s *source) resumed() int64 {
	measured := s.measure()
	for {
		known := s.suspended.Load()
		if measured < known+suspendStep {
			return known
		}
		if s.suspended.CompareAndSwap(known, measured) {
			return measured
		}
	}
}

// measure returns the time spent suspended, wrong by at most half the width of the narrowest bracket it found.
func (s *source) measure() int64 {
	best, width := int64(0), int64(math.MaxInt64)
	for range bracketTries {
		before := s.gettime(unix.CLOCK_MONOTONIC)
		boot := s.gettime(unix.CLOCK_BOOTTIME)
		after := s.gettime(unix.CLOCK_MONOTONIC)
		if w := after - before; w < width {
			best, width = boot-before-w/2, w
		}
		if width <= bracketWidth {
			break
		}
	}
	return best
}

// gettime never waits, so Go's scheduler need not hear of the call: with that it costs half as much, three times a
// reading.
func gettime(clock int32) int64 {
	var ts unix.Timespec
	_, _, errno := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		panic(fmt.Sprintf("clock: this kernel has no clock %d (Linux 2.6.39 or newer is needed): %v", clock, errno))
	}
	return ts.Nano()
}
