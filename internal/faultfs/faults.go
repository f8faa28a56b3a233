//go:build linux

package faultfs

import (
	"sync"
	"syscall"
	"time"
)

// Op is a kind of operation that can be made to fail.
type Op uint8

// The operations. Create covers new names of any kind, Rename and Remove what they say.
const (
	Read Op = iota
	Write
	Sync // of a file or a directory
	Truncate
	Create
	Rename
	Remove
	ops
)

// changes reports whether op changes what is on the disk, now or later.
func (o Op) changes() bool { return o != Read }

// Counts is what has happened since Mount.
type Counts struct {
	Done   [ops]int // operations that went through
	Failed [ops]int // operations that a fault made fail
	Waited int      // operations that a stall held up
	Lost   int      // unsynced pages that crashes dropped or tore
}

// faults decides about each operation before it happens.
type faults struct {
	mu     sync.Mutex
	errs   [ops]syscall.Errno
	after  [ops]int // operations of the kind that still go through before errs holds
	halt   int      // changes that still go through; below 0: no limit
	halted chan struct{}
	lie    bool
	free   int64 // below 0: the truth
	stall  chan struct{}
	timer  *time.Timer
	counts Counts
}

func newFaults() *faults { return &faults{halt: -1, free: -1, halted: make(chan struct{})} }

// pass waits out a stall and returns why op must fail, 0 if it need not. Signals do not end the wait, as they would not
// on a disk.
func (f *faults) pass(op Op) syscall.Errno {
	f.mu.Lock()
	defer f.mu.Unlock()
	waited := false
	for f.stall != nil {
		stall := f.stall
		if !waited {
			f.counts.Waited++
			waited = true
		}
		f.mu.Unlock()
		<-stall
		f.mu.Lock()
	}
	errno := f.errs[op]
	if errno != 0 && f.after[op] > 0 {
		f.after[op]--
		errno = 0
	}
	if errno == 0 && op.changes() && f.halt >= 0 {
		if f.halt == 0 {
			errno = syscall.EIO
		} else if f.halt--; f.halt == 0 {
			close(f.halted)
		}
	}
	if errno != 0 {
		f.counts.Failed[op]++
	} else {
		f.counts.Done[op]++
	}
	return errno
}

// SetError makes every operation of a kind fail with errno; 0 ends that.
func (f *FS) SetError(op Op, errno syscall.Errno) { f.FailAfter(op, 0, errno) }

// FailAfter lets n more operations of a kind through; those after fail with errno, until SetError ends it.
func (f *FS) FailAfter(op Op, n int, errno syscall.Errno) {
	f.faults.mu.Lock()
	defer f.faults.mu.Unlock()
	f.faults.errs[op], f.faults.after[op] = errno, n
}

// Halt lets n more changes of any kind through, n > 0; those after fail with EIO, as if the machine had stopped there,
// while reads go on. The channel is closed when the last one has gone through. Crash ends the halt, and EndHalt.
func (f *FS) Halt(n int) <-chan struct{} {
	f.faults.mu.Lock()
	defer f.faults.mu.Unlock()
	f.faults.halt, f.faults.halted = n, make(chan struct{})
	return f.faults.halted
}

// EndHalt lets changes through again and keeps what was not synced, as when a process died and the machine did not.
func (f *FS) EndHalt() { f.faults.reset(0) }

// Stall holds up every operation until d has passed or Resume is called.
func (f *FS) Stall(d time.Duration) {
	f.Resume()
	f.faults.mu.Lock()
	defer f.faults.mu.Unlock()
	f.faults.stall = make(chan struct{})
	f.faults.timer = time.AfterFunc(d, f.Resume)
}

// Resume ends a stall.
func (f *FS) Resume() {
	f.faults.mu.Lock()
	defer f.faults.mu.Unlock()
	if f.faults.stall != nil {
		f.faults.timer.Stop()
		close(f.faults.stall)
		f.faults.stall = nil
	}
}

// LieAboutSync makes a sync report success and do nothing, as some disks do.
func (f *FS) LieAboutSync(lie bool) {
	f.faults.mu.Lock()
	defer f.faults.mu.Unlock()
	f.faults.lie = lie
}

// SetFree makes the file system report this much free space; below 0 it reports the truth again. Writes do
// not fail for it: see SetError with ENOSPC.
func (f *FS) SetFree(bytes int64) {
	f.faults.mu.Lock()
	defer f.faults.mu.Unlock()
	f.faults.free = bytes
}

// Counts returns what has happened so far.
func (f *FS) Counts() Counts {
	f.faults.mu.Lock()
	defer f.faults.mu.Unlock()
	return f.faults.counts
}

func (f *faults) isHalted() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.halt == 0
}

func (f *faults) lies() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lie
}

func (f *faults) freeBytes() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.free
}

// reset ends a halt and counts what a crash lost.
func (f *faults) reset(lost int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.halt = -1
	f.counts.Lost += lost
}
