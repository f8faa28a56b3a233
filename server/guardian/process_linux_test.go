package guardian

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"tenure/internal/ballot"
	"tenure/internal/certs"
	"tenure/internal/certs/certstest"
	"tenure/internal/ident"
	"tenure/server/transport"
	"tenure/server/wire"
)

// The test's own binary plays the guardian, and the server that is killed.
const (
	asGuardian = "as-guardian"
	asServer   = "as-server"
	timeout    = 20 * time.Second
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asGuardian {
		if Main() != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 5 && os.Args[1] == asServer {
		playServer(os.Args[2], certs.Paths{Cert: os.Args[3], Key: os.Args[4], CA: os.Args[5]})
		return
	}
	os.Exit(m.Run())
}

// playServer keeps a guardian and does what standard input says, and answers each line with the guardian's state.
func playServer(peer string, files certs.Paths) {
	plan := testPlan(Peer{2, peer, "node-2"})
	plan.TLS = files
	k, err := Start(Config{Command: []string{"/proc/self/exe", asGuardian}, Plan: plan, Log: zerolog.Nop()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		switch lines.Text() {
		case "note":
			k.Note([]uint64{3, 5})
		case "forget":
			k.Note(nil)
		case "close":
			err = k.Close()
		case "fail":
			os.Exit(1)
		}
		_ = json.NewEncoder(os.Stdout).Encode(k.State())
		if err != nil {
			os.Exit(1)
		}
	}
}

// peer is what node 2 hears.
type peer struct {
	*transport.Transport
	words chan wire.Release
	owner certs.Paths // of the node whose guardian speaks; zero without TLS
}

func (p *peer) LeaseFrame(ballot.NodeID, ballot.Incarnation, []byte)     {}
func (p *peer) LogFrame(ballot.NodeID, ballot.Incarnation, []byte, bool) {}

func (p *peer) NamedFrame(ballot.NodeID, ballot.Incarnation, []byte, bool) {}
func (p *peer) Connected(ballot.NodeID, wire.Kind)                         {}
func (p *peer) Disconnected(ballot.NodeID, wire.Kind)                      {}
func (p *peer) CrashReleased(owner ballot.Incarnation, c []uint64) {
	p.words <- wire.Release{Owner: owner, Counters: c}
}
func (p *peer) hello() wire.Hello {
	return wire.Hello{Cluster: testPlan().Cluster, Node: 2, Store: ident.StoreID{0xaa, 2}, Incarnation: ballot.Incarnation{Node: 2, Restart: 1}}
}

func newPeer(t *testing.T) *peer { return newPeerWith(t, nil, certs.Paths{}) }

// newPeerWith returns a peer with these files, and those for the node whose guardian speaks.
func newPeerWith(t *testing.T, own *certs.Files, owner certs.Paths) *peer {
	t.Helper()
	p := &peer{words: make(chan wire.Release, 100), owner: owner}
	var err error
	if p.Transport, err = transport.Listen(transport.Config{Self: 2, Addr: "127.0.0.1:0", TLS: own, Hello: p.hello, Log: zerolog.Nop()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	m := ident.Membership{Number: 1, Members: []ident.Member{{Node: 1, Store: testPlan().Store}, {Node: 2, Store: p.hello().Store}}}
	p.Serve(p, m, nil)
	return p
}

// hears waits for what the guardian has to say.
func (p *peer) hears(t *testing.T) {
	t.Helper()
	select {
	case got := <-p.words:
		if diff := cmp.Diff(wire.Release{Owner: testPlan().Owner, Counters: []uint64{3, 5}}, got); diff != "" {
			t.Error(diff)
		}
	case <-time.After(timeout):
		t.Fatal("the guardian says nothing")
	}
}

// heardNothing: no guardian that could say anything is left.
func (p *peer) heardNothing(t *testing.T) {
	t.Helper()
	p.Close()
	if n := len(p.words); n > 0 {
		t.Errorf("the guardian spoke %d times", n)
	}
}

type server struct {
	*exec.Cmd
	in  io.Writer
	out *bufio.Scanner
}

func startServer(t *testing.T, p *peer) *server {
	t.Helper()
	s := &server{Cmd: exec.Command("/proc/self/exe", asServer, p.Addr().String(), p.owner.Cert, p.owner.Key, p.owner.CA)}
	in, err := s.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.in, s.out, s.Stderr = in, bufio.NewScanner(out), os.Stderr
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Process.Kill(); _ = s.Wait() })
	return s
}

// does has the server do something and returns the guardian's state after it.
func (s *server) does(t *testing.T, what string) State {
	t.Helper()
	fmt.Fprintln(s.in, what)
	if !s.out.Scan() {
		t.Fatalf("the server ended at %q", what)
	}
	var st State
	if err := json.Unmarshal(s.out.Bytes(), &st); err != nil {
		t.Fatal(err)
	}
	return st
}

// gone waits for the end of a process that is no child of the test.
func gone(t *testing.T, pid int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	for syscall.Kill(pid, 0) == nil && !zombie(pid) {
		select {
		case <-ctx.Done():
			t.Fatalf("process %d does not end", pid)
		case <-time.After(time.Millisecond):
		}
	}
}

// awaitName waits until a guardian has settled down: before that a signal may still end it.
func awaitName(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(timeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); strings.TrimSpace(string(b)) == processName {
			return
		}
	}
	t.Fatal("the guardian does not settle down")
}

// zombie tells whether a process has ended and is only not collected by whoever inherited it.
func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(b), ") ")
	return err != nil || strings.HasPrefix(rest, "Z")
}

func TestTheGuardianSpeaksForAServerThatDied(t *testing.T) {
	for _, how := range []string{"kill", "fail", "stopped and killed", "group"} {
		t.Run(how, func(t *testing.T) {
			p := newPeer(t)
			s := startServer(t, p)
			s.does(t, "note")
			switch how {
			case "kill":
				_ = s.Process.Kill()
			case "fail":
				fmt.Fprintln(s.in, how)
			case "stopped and killed":
				_ = s.Process.Signal(syscall.SIGSTOP)
				_ = s.Process.Kill()
			case "group": // what a terminal or a supervisor sends to all, first to the guardian
				pid := s.does(t, "state").PID
				awaitName(t, pid)
				for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
					_ = syscall.Kill(pid, sig)
				}
				_ = s.Process.Signal(syscall.SIGINT)
			}
			p.hears(t)
		})
	}
}

func TestTheGuardianSaysNothingForAServerThatHoldsNothing(t *testing.T) {
	p := newPeer(t)
	s := startServer(t, p)
	s.does(t, "note")
	pid := s.does(t, "forget").PID
	_ = s.Process.Kill()
	gone(t, pid)
	p.heardNothing(t)
}

func TestTheGuardianEndsWithAnOrderlyStop(t *testing.T) {
	p := newPeer(t)
	s := startServer(t, p)
	s.does(t, "note")
	pid := s.does(t, "forget").PID
	s.does(t, "close")
	if !zombie(pid) {
		t.Error("it runs on")
	}
	p.heardNothing(t)
}

// A guardian that dies is harmless, and is started again; the new one knows all.
func TestAGuardianThatDiesIsStartedAgain(t *testing.T) {
	p := newPeer(t)
	s := startServer(t, p)
	first := s.does(t, "note")
	if first.PID == 0 || first.Starts != 1 {
		t.Fatalf("%+v", first)
	}
	_ = syscall.Kill(first.PID, syscall.SIGKILL)
	now := first
	for end := time.Now().Add(timeout); now.Starts < 2 || now.PID == 0; now = s.does(t, "state") {
		if time.Now().After(end) {
			t.Fatalf("it is not started again: %+v", now)
		}
		if now.PID == 0 && now.Problem == "" {
			t.Fatal("nobody says why there is none")
		}
	}
	if len(p.words) > 0 {
		t.Fatal("it spoke for a server that lives")
	}
	_ = s.Process.Kill()
	p.hears(t)
}

// While the server is stopped, however long, the kernel does not say that it is dead.
func TestOnlyTheEndOfTheProcessEndsTheWait(t *testing.T) {
	sleeper := exec.Command("sleep", "1000")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = sleeper.Process.Kill(), sleeper.Wait() }() // also if the test fails: it is stopped for ever
	fd, err := unix.PidfdOpen(sleeper.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	_ = sleeper.Process.Signal(syscall.SIGSTOP)
	ended := make(chan error, 1)
	go func() { ended <- awaitDeath(fd) }()
	select {
	case err := <-ended:
		t.Fatalf("stopped, and taken for dead: %v", err)
	case <-time.After(100 * time.Millisecond): // no proof; a wait that ends by itself would have ended
	}
	_ = sleeper.Process.Kill()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := awaitDeath(1 << 20); err == nil {
		t.Error("a file that is none was taken for the kernel's word")
	}
}

func TestMainRefusesToRunByHand(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", asGuardian)
	if err := cmd.Run(); err == nil {
		t.Error("it ran without its files")
	}
}

// TestTheGuardianSpeaksOverTLS: it shows the certificate of its node, also one that came into the files after it was
// started.
func TestTheGuardianSpeaksOverTLS(t *testing.T) {
	ca := certstest.New(t, "prod")
	owner := ca.Node(t, "node-1")
	p := newPeerWith(t, certstest.Load(t, ca.Node(t, "node-2")), owner)
	s := startServer(t, p)
	s.does(t, "note")
	if _, err := ca.Renew(owner.Cert, 0, time.Now()); err != nil {
		t.Fatal(err)
	}
	_ = s.Process.Kill()
	p.hears(t)
}
