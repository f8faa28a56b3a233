//go:build linux && (amd64 || arm64)

package acceptor

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"tenure/storage/internal/disk"
)

// syncer makes a file's data durable. It hands the kernel the fdatasync by io_submit and waits for an eventfd that Go's
// poller watches, as it does for a socket. A goroutine inside the system call fdatasync would keep a processor of Go's
// scheduler until the runtime's monitor takes it away; with a sync every few hundred microseconds that monitor polls
// every 20 µs for good, a tenth of a node's processor time under load.
//
// Where the kernel has no asynchronous I/O, or not for this file system, or a sandbox forbids it, syncs are plain
// calls. The disk has received no request by then, so this is no second try of a sync. The first sync, when a journal
// is opened, is a plain call too. The kernel takes some 40 ms to give a context back, and most programs that open a
// store to look at it never sync again. Not safe for concurrent use.
type syncer struct {
	file    *os.File
	phase   phase
	context uintptr  // of io_setup, if phase is asynchronous
	done    *os.File // the eventfd
	block   iocb
	blocks  [1]*iocb
	event   ioEvent
	count   [8]byte
}

// phase says how the next sync is done.
type phase int

const (
	barrier   phase = iota // by a plain call
	undecided              // asynchronously if the kernel can do that
	asynchronous
	plainly
)

// iocb and ioEvent are struct iocb and io_event of include/uapi/linux/aio_abi.h on little-endian machines.
type iocb struct {
	_       [16]byte // data, key, flags of reads and writes
	opcode  uint16
	_       int16 // priority
	file    uint32
	_       [24]byte // buffer, its length, offset
	_       uint64
	flags   uint32
	eventfd uint32
}

var _ [64]struct{} = [unsafe.Sizeof(iocb{})]struct{}{}

type ioEvent struct {
	data, block     uint64
	result, result2 int64
}

const (
	iocbDataSync = 3 // IOCB_CMD_FDSYNC
	iocbEventfd  = 1 // IOCB_FLAG_RESFD
)

// newSyncer makes one for f, which stays the caller's.
func newSyncer(f *os.File) *syncer { return &syncer{file: f} }

// setUp asks the kernel for what asynchronous syncs need.
func (s *syncer) setUp() {
	s.phase = plainly
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return
	}
	s.done = os.NewFile(uintptr(fd), "eventfd")
	s.block = iocb{opcode: iocbDataSync, file: uint32(s.file.Fd()), flags: iocbEventfd, eventfd: uint32(fd)}
	s.blocks[0] = &s.block
	if _, _, errno := unix.Syscall(unix.SYS_IO_SETUP, 1, uintptr(unsafe.Pointer(&s.context)), 0); errno != 0 {
		s.Close()
		return
	}
	s.phase = asynchronous
}

// Sync returns when all that was written to the file before is durable. After an error nobody knows what is.
func (s *syncer) Sync() error {
	switch s.phase {
	case barrier:
		s.phase = undecided
		return disk.DataSync(s.file)
	case undecided:
		s.setUp()
	}
	if s.phase == plainly {
		return disk.DataSync(s.file)
	}
	// Neither call waits, so neither tells the scheduler.
	n, _, errno := unix.RawSyscall(unix.SYS_IO_SUBMIT, s.context, 1, uintptr(unsafe.Pointer(&s.blocks[0])))
	if errno != 0 || n != 1 {
		s.Close()
		return disk.DataSync(s.file)
	}
	if _, err := s.done.Read(s.count[:]); err != nil {
		return fmt.Errorf("wait for a sync: %w", err)
	}
	n, _, errno = unix.RawSyscall6(unix.SYS_IO_GETEVENTS, s.context, 1, 1, uintptr(unsafe.Pointer(&s.event)), 0, 0)
	if errno != 0 || n != 1 {
		return fmt.Errorf("io_getevents gave %d events of a finished sync: %w", n, errno)
	}
	if s.event.result < 0 {
		return os.NewSyscallError("fdatasync", syscall.Errno(-s.event.result))
	}
	return nil
}

// Close gives back what the kernel holds for s. Syncs are plain calls from then on. It may be called twice.
func (s *syncer) Close() {
	if s.phase == asynchronous {
		_, _, _ = unix.Syscall(unix.SYS_IO_DESTROY, s.context, 0, 0)
	}
	s.phase = plainly
	if s.done != nil {
		_ = s.done.Close()
		s.done = nil
	}
}
