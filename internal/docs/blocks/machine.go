package blocks

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Limits of one command. They are for a machine that does much else: a command takes a second.
const (
	commandLimit  = 2 * time.Minute
	terminalLimit = 30 * time.Second // until a command that goes on has printed what is shown
)

// Machine is what the blocks of one page run on.
type Machine struct {
	dir     string // of commands and their output
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	codes   chan string // "NUMBER CODE" of each command that ended; closed at the end of the shell
	failed  *os.File    // what the shell itself writes
	number  int
	ids     map[string]string // that were printed, by those that the page shows
	started []terminal
}

// terminal is a command that may go on.
type terminal struct {
	step   Step
	number int
}

// unshare are the arguments of unshare for the namespaces, without a command.
func unshare() []string {
	args := []string{"--net", "--mount", "--uts", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc"}
	if os.Getuid() != 0 {
		args = append([]string{"--user", "--map-root-user"}, args...)
	}
	return args
}

// Possible returns why there can be no machine here, or nil.
func Possible() error {
	for _, program := range []string{"unshare", "ip", "chroot", "curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			return err
		}
	}
	args := append(unshare(), "mount", "-t", "tmpfs", "none", "/mnt")
	if out, err := exec.Command("unshare", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("unshare: %w: %s", err, out)
	}
	return nil
}

// StartMachine starts the shell of a page, which sees at root what is in the directory tree. The directory work is
// empty.
func StartMachine(root, tree, work string) (m *Machine, err error) {
	m = &Machine{dir: filepath.Join(work, "commands"), codes: make(chan string), ids: map[string]string{}}
	if err := os.Mkdir(m.dir, 0o700); err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer write.Close()
	defer func() {
		if err != nil {
			read.Close()
		}
	}()
	if m.failed, err = os.Create(filepath.Join(work, "shell")); err != nil {
		return nil, err
	}
	script := filepath.Join(tree, "internal", "docs", "blocks", "machine.sh")
	m.cmd = exec.Command("unshare", append(unshare(), "bash", script, root, tree, work)...)
	m.cmd.Stdout, m.cmd.Stderr, m.cmd.ExtraFiles, m.cmd.Env = m.failed, m.failed, []*os.File{write}, environ()
	if m.stdin, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(m.codes)
		defer read.Close()
		for lines := bufio.NewScanner(read); lines.Scan(); {
			m.codes <- lines.Text()
		}
	}()
	return m, nil
}

// environ is the environment of a page: without settings of kvctl, kvnode and others, which are the page's to make.
func environ() []string {
	var out []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		for _, prefix := range []string{"PATH", "GO", "LANG", "TMPDIR"} {
			if strings.HasPrefix(name, prefix) {
				out = append(out, pair)
			}
		}
	}
	// The home is another one, so the go command is told where its caches are.
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		if value, err := exec.Command("go", "env", name).Output(); err == nil {
			out = append(out, name+"="+strings.TrimSpace(string(value)))
		}
	}
	return append(out, "GOFLAGS=-buildvcs=false", "GOPROXY=off", "GOTOOLCHAIN=local", "TERM=dumb", "USER=root")
}

// errGone is the end of the shell itself: no later command of the page can run.
var errGone = errors.New("the shell has ended")

// Run runs one command, and returns what is wrong with it. An error that wraps errGone is the last.
func (m *Machine) Run(s Step, marks Marks) error {
	m.number++
	name := filepath.Join(m.dir, strconv.Itoa(m.number))
	command := given.ReplaceAllStringFunc(s.Command, func(id string) string { return cmp.Or(m.ids[id], id) })
	if err := os.WriteFile(name, []byte(command+"\n"), 0o600); err != nil {
		return err
	}
	background := marks.Terminals != nil && !s.Hidden && marks.Terminals.MatchString(s.Command)
	line := fmt.Sprintf("{ . %[1]s; } >|%[1]s.out 2>&1; echo %[2]d $? >&3\n", name, m.number)
	if background {
		line = fmt.Sprintf("{ . %[1]s; echo $? >|%[1]s.code; } >|%[1]s.out 2>&1 3>&- 9<&- & "+
			"terminals+=($!); echo %[2]d 0 >&3\n", name, m.number)
		m.started = append(m.started, terminal{s, m.number})
	}
	if _, err := io.WriteString(m.stdin, line); err != nil {
		return fmt.Errorf("%w: %s", errGone, m.complaint())
	}
	code := ""
	select {
	case answer, ok := <-m.codes:
		if !ok {
			return fmt.Errorf("%w: %s%s", errGone, m.complaint(), strings.Join(m.printed(m.number), "\n"))
		}
		_, code, _ = strings.Cut(answer, " ")
	case <-time.After(commandLimit):
		return fmt.Errorf("%w: the command goes on after %v, and has printed\n%s", errGone, commandLimit,
			strings.Join(m.printed(m.number), "\n"))
	}
	if background {
		return m.await(s, marks)
	}
	out := m.printed(m.number)
	switch {
	case s.Shown == nil && code != "0":
		return fmt.Errorf("exit code %s\n%s", code, strings.Join(out, "\n"))
	case s.Shown != nil && !Same(s.Shown, out, marks.Loose):
		return differ(s.Shown, out)
	}
	Given(m.ids, s.Shown, out)
	return nil
}

// await waits until the command that was started last has printed what is shown.
func (m *Machine) await(s Step, marks Marks) error {
	if s.Shown == nil {
		return nil
	}
	for end := time.Now().Add(terminalLimit); ; time.Sleep(20 * time.Millisecond) {
		out := m.printed(m.number)
		if Same(s.Shown, out, marks.Loose) {
			return nil
		}
		if time.Now().After(end) {
			return differ(s.Shown, out)
		}
	}
}

func differ(shown, printed []string) error {
	return fmt.Errorf("the page shows\n%s\nand the command prints\n%s", strings.Join(shown, "\n"),
		strings.Join(printed, "\n"))
}

func (m *Machine) printed(number int) []string {
	text, _ := os.ReadFile(filepath.Join(m.dir, strconv.Itoa(number)+".out"))
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return lines[max(0, len(lines)-100):]
}

func (m *Machine) complaint() string {
	text, _ := os.ReadFile(m.failed.Name())
	return string(text)
}

// Close ends the shell and all that it has started, and returns the errors of commands in terminals that have failed.
func (m *Machine) Close() []error {
	var out []error
	for _, t := range m.started {
		code, err := os.ReadFile(filepath.Join(m.dir, strconv.Itoa(t.number)+".code"))
		if c := strings.TrimSpace(string(code)); err == nil && c != "0" {
			out = append(out, fmt.Errorf("line %d: %s: exit code %s\n%s", t.step.Line, t.step.Command, c,
				strings.Join(m.printed(t.number), "\n")))
		}
	}
	m.stdin.Close()
	m.cmd.Process.Kill() // --kill-child: the first process of the namespace goes with it, and takes the others along
	for range m.codes {
	}
	m.cmd.Wait()
	m.failed.Close()
	return out
}
