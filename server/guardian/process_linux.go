package guardian

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// files are what the guardian inherits.
type files struct {
	pidfd *os.File // of this very process
	page  *os.File
}

// makeFiles makes the page and a pidfd of this process. A process cannot mistake itself for another one. The inherited
// pidfd stays valid even if this process ends before the guardian looks at it.
func makeFiles() (page, files, error) {
	pidfd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return page{}, files{}, fmt.Errorf("open a pidfd: %w", err)
	}
	f := files{pidfd: os.NewFile(uintptr(pidfd), "pidfd")}
	memory, err := unix.MemfdCreate("tenure-guardian", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return page{}, f, errors.Join(fmt.Errorf("make the guardian's page: %w", err), f.pidfd.Close())
	}
	f.page = os.NewFile(uintptr(memory), "page")
	p, err := mapNewPage(memory)
	if err != nil {
		return page{}, f, errors.Join(err, f.pidfd.Close(), f.page.Close())
	}
	return p, f, nil
}

// mapNewPage gives the page its size, for good: memory that shrinks would kill who reads it.
func mapNewPage(fd int) (page, error) {
	if err := unix.Ftruncate(fd, pageBytes); err != nil {
		return page{}, fmt.Errorf("size the guardian's page: %w", err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS,
		unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return page{}, fmt.Errorf("seal the guardian's page: %w", err)
	}
	b, err := unix.Mmap(fd, 0, pageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return page{}, fmt.Errorf("map the guardian's page: %w", err)
	}
	return page{b}, nil
}

// release gives back what makeFiles took.
func (k *Process) release() error {
	return errors.Join(unix.Munmap(k.page.b), k.files.pidfd.Close(), k.files.page.Close())
}

// child is a guardian that runs.
type child struct{ cmd *exec.Cmd }

// startChild starts a guardian. It gets a process group of its own, so that signals to the server's group do not kill
// it. It does not get the server's standard files, since their readers wait until the last holder closes them. Its
// working directory is not the data directory.
func startChild(command []string, f files) (*child, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = []string{"GOMAXPROCS=2", "GOGC=20", "GOTRACEBACK=none"}
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{f.pidfd, f.page}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &child{cmd}, nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) kill() { _ = c.cmd.Process.Kill() } // it may be gone already

// wait waits for its end, in words.
func (c *child) wait() string {
	if err := c.cmd.Wait(); err != nil {
		return err.Error()
	}
	return "exit status 0"
}
