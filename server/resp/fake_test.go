package resp

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
	"tenure/server/slow"
)

// fake is a node of which this package sees the state and leases only: one state in memory, without a log.
type fake struct {
	service.Node // none: nothing else is asked for
	mu           sync.Mutex
	state        *kv.State
	writes       []kv.Command // that were asked for
	reads        []service.Mode
	fail         error // of all that is asked, if set
	full         bool  // space is short
	status       api.Status

	leases   []service.LeaseCommand // that were asked for
	leaseErr error                  // what came of them
}

func newFake(t testing.TB) *fake {
	t.Helper()
	s, err := kv.Open(kv.NewMemStateDB(), kv.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{state: s, status: api.Status{Node: 1, Master: 1, Role: api.RoleMaster, Applied: 7, Peers: []api.PeerStatus{
		{Node: 2, RedisAddress: "b:2", Connected: true, Applied: 6}, {Node: 3, RedisAddress: "c:3", Connected: true}}}}
	f.apply(t, kv.Command{Op: kv.OpLevel, Num: kv.NewestLevel, Value: []byte("test")})
	return f
}

func (f *fake) apply(t testing.TB, c kv.Command) {
	t.Helper()
	if _, err := f.Write(0, c, nil); err != nil {
		t.Fatal(err)
	}
}

func (f *fake) Serves() error { return nil }

func (f *fake) Write(_ time.Duration, c kv.Command, took *slow.Write) (kv.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return kv.Result{}, f.fail
	}
	if f.full && !c.Frees() {
		return kv.Result{}, service.ErrNoSpace
	}
	if err := c.Validate(); err != nil {
		return kv.Result{}, err
	}
	f.writes = append(f.writes, c)
	r, err := f.state.Apply(f.state.Applied()+1, kv.AppendBatch(nil, kv.EncodeCommand(&c)))
	if err != nil {
		return kv.Result{}, err
	}
	return r[0], nil
}

func (f *fake) WriteDrawn(time.Duration, kv.Command, *slow.Write) (kv.Result, error) {
	panic("no key is drawn for a command of Redis")
}

func (f *fake) GetMany(_ time.Duration, mode service.Mode, keys []string, each func(int, kv.Entry) bool) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return 0, f.fail
	}
	f.reads = append(f.reads, mode)
	for i, k := range keys {
		e, _, err := f.state.Get(k)
		if err != nil {
			return 0, err
		}
		if !each(i, e) {
			break
		}
	}
	return f.state.Revision(), nil
}

func (f *fake) Snapshot(time.Duration, service.Mode) (*kv.Snapshot, service.ReadMeta, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.state.Snapshot()
	return s, service.ReadMeta{}, err
}

func (f *fake) Lease(_ context.Context, r service.LeaseCommand) (service.LeaseGrant, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leases = append(f.leases, r)
	return service.LeaseGrant{Token: 7, Serial: uint64(len(f.leases))}, f.leaseErr
}

func (f *fake) ShowLease(name string) (service.LeaseHint, bool) {
	return service.LeaseHint{Owner: "me", Token: 7, Left: time.Second}, name == "held"
}

func (f *fake) Status() api.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

func (f *fake) KeyCount() (int, bool) { return 7, true }

func (f *fake) Remaining(kv.TimedKind, string) (time.Duration, bool) { return 0, false }

// told returns how often the state was written and read since the last call.
func (f *fake) told() (writes, reads int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	writes, reads = len(f.writes), len(f.reads)
	f.writes, f.reads = nil, nil
	return writes, reads
}

// session is a client of a server on loopback.
type session struct {
	t testing.TB
	net.Conn
	in *bufio.Reader
}

// start serves b until the test ends.
func start(t testing.TB, b service.Node, c Config) *Server {
	t.Helper()
	c.Addr = "127.0.0.1:0"
	s, err := New(c, service.FrontOf(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error("shutdown:", err)
		}
		if err := <-done; err != nil {
			t.Error("serve:", err)
		}
	})
	return s
}

func dial(t testing.TB, s *Server) *session {
	t.Helper()
	nc, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return newSession(t, nc)
}

func newSession(t testing.TB, nc net.Conn) *session {
	return &session{t: t, Conn: nc, in: bufio.NewReader(nc)}
}

// send sends lines of inline commands.
func (s *session) send(lines ...string) {
	s.t.Helper()
	if _, err := s.Write([]byte(strings.Join(lines, "\r\n") + "\r\n")); err != nil {
		s.t.Fatal(err)
	}
}

// reply reads one reply and returns it as text: strings unchanged, errors with -, lists in brackets, null as nil.
func (s *session) reply() string {
	s.t.Helper()
	line, err := s.in.ReadString('\n')
	if err != nil {
		s.t.Fatal("no reply: ", err)
	}
	mark, rest := line[0], strings.TrimSuffix(line[1:], "\r\n")
	n := -1
	if strings.ContainsRune("$*%~>=", rune(mark)) {
		if _, err := fmt.Sscan(rest, &n); err != nil {
			s.t.Fatal(err)
		}
	}
	switch {
	case mark == '-':
		return "-" + rest
	case mark == '_' || n < 0 && strings.ContainsRune("$*", rune(mark)):
		return "nil"
	case mark == '$' || mark == '=':
		text := make([]byte, n+2)
		for read := 0; read < len(text); {
			k, err := s.in.Read(text[read:])
			if err != nil {
				s.t.Fatal(err)
			}
			read += k
		}
		return string(text[:n])
	case mark == '*' || mark == '%' || mark == '~' || mark == '>':
		if mark == '%' {
			n *= 2
		}
		list := make([]string, n)
		for i := range list {
			list[i] = s.reply()
		}
		return "[" + strings.Join(list, " ") + "]"
	}
	return rest
}

// want sends a command and checks its reply.
func (s *session) want(command, reply string) {
	s.t.Helper()
	s.send(command)
	if got := s.reply(); got != reply {
		s.t.Errorf("%s: %s, want %s", command, got, reply)
	}
}
