package web

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/server/members"
	"tenure/server/service"
	"tenure/server/slow"
	"tenure/server/watch"
)

// fake is a Backend on a real state machine in memory: a cluster of one without a log.
type fake struct {
	mu       sync.Mutex
	state    *kv.State
	hub      *watch.Hub
	slot     uint64
	writes   int
	drawn    int // of the writes, those through WriteDrawn
	last     kv.Command
	mode     service.Mode
	transfer ballot.NodeID

	writeErr, readErr, transferErr, readyErr error
	full                                     string
	drained                                  bool
	master                                   atomic.Uint64
	result                                   kv.Result           // if Code is set, the answer to every write
	meta                                     service.ReadMeta    // LastContact and KnownLeader of reads
	onWrite                                  func(time.Duration) // called before a write is applied
	onRead                                   func()
	catchUp                                  func()        // called by a CatchUp, which takes that long
	caughtUp                                 int           // how often CatchUp was called
	remaining                                time.Duration // of everything that runs
	status                                   api.Status
	leader                                   string
	leases                                   []service.LeaseCommand
	grant                                    service.LeaseGrant
	leaseErr                                 error
	leaseWaits                               bool // a Lease waits for its context
	hint                                     service.LeaseHint
	leaseQuery                               service.LeaseQuery
	leaseList                                service.LeaseList
	peers                                    []string
	members                                  api.MemberList
	operation                                api.MemberOperation
	plan                                     api.MemberPlan
	changes                                  []string // what was asked about members
	memberErr                                error
	backup                                   *fakeBackup
	backupErr                                error
	usesErr                                  error
	whileAsked                               func() // called while members are asked for uses; nil: nothing is
	upgrade                                  api.Upgrade
	upgradeErr                               error
	finished                                 int
	restored                                 []byte     // the body of a Restore
	install                                  kv.Command // of a Restore
	restoreResult                            kv.Result
	restoreErr                               error
}

func newFake(t testing.TB) *fake {
	st, err := kv.Open(kv.NewMemStateDB(), kv.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	hub := watch.New(watch.DefaultLimits)
	hub.Begin(0)
	st.Observe(kv.Observer{Changed: hub.Changed})
	return &fake{state: st, hub: hub, meta: service.ReadMeta{KnownLeader: true}}
}

func (f *fake) Write(timeout time.Duration, c kv.Command, took *slow.Write) (kv.Result, error) {
	if f.onWrite != nil {
		f.onWrite(timeout)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = c
	f.last.Value = append([]byte(nil), c.Value...)
	if f.writeErr != nil {
		return kv.Result{}, f.writeErr
	}
	f.writes++
	if f.result.Code != 0 {
		return f.result, nil
	}
	f.slot++
	res, err := f.state.Apply(f.slot, kv.AppendBatch(nil, kv.EncodeCommand(&c)))
	if err != nil {
		return kv.Result{}, err
	}
	return res[0], nil
}

func (f *fake) WriteDrawn(timeout time.Duration, c kv.Command, took *slow.Write) (kv.Result, error) {
	f.mu.Lock()
	f.drawn++
	f.mu.Unlock()
	return f.Write(timeout, c, took)
}

func (f *fake) Get(_ time.Duration, mode service.Mode, key string) (kv.Entry, bool, service.ReadMeta, error) {
	if f.onRead != nil {
		f.onRead()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mode = mode
	if f.readErr != nil {
		return kv.Entry{}, false, service.ReadMeta{}, f.readErr
	}
	e, ok, err := f.state.Get(key)
	return e, ok, f.readMeta(), err
}

func (f *fake) readMeta() service.ReadMeta {
	m := f.meta
	m.Revision = f.state.Revision()
	return m
}

func (f *fake) Snapshot(_ time.Duration, mode service.Mode) (*kv.Snapshot, service.ReadMeta, error) {
	if f.onRead != nil {
		f.onRead()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mode = mode
	if f.readErr != nil {
		return nil, service.ReadMeta{}, f.readErr
	}
	v, err := f.state.Snapshot()
	return v, f.readMeta(), err
}

// CatchUp fails as a linearizable read does.
func (f *fake) CatchUp(time.Duration) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.caughtUp++
	if f.catchUp != nil {
		f.catchUp()
	}
	return f.state.Revision(), f.readErr
}

func (f *fake) Transfer(_ time.Duration, to ballot.NodeID) error {
	f.transfer = to
	return f.transferErr
}

func (f *fake) ClusterID() string { return f.status.Cluster }

func (f *fake) Status() api.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.status
	s.Revision = f.state.Revision()
	return s
}

func (f *fake) History() api.History {
	return api.History{Node: 1, Samples: []api.HistorySample{{AgeMS: 1, RequestsPerS: 2, P99MS: 3,
		Lags: []api.MemberLag{{Node: 2, Slots: 4}}}}}
}

func (f *fake) Reports() api.Reports {
	return api.Reports{Reports: []api.Report{{Node: 2, Problem: "it is not heard", Changes: []api.TenureChange{}}}}
}

func (f *fake) TokenUses(accessors []string) (api.TokenUses, error) {
	if f.whileAsked != nil {
		f.whileAsked()
	}
	out := api.TokenUses{Silent: []uint64{3}}
	for _, a := range accessors {
		at := time.Unix(1_790_000_000, 0).UTC()
		out.Uses = append(out.Uses, api.TokenUse{Accessor: a, LastUsed: &at, Node: 2})
	}
	return out, f.usesErr
}

func (f *fake) Session(id string) (kv.Session, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state.Session(id)
}

func (f *fake) Remaining(kv.TimedKind, string) (time.Duration, bool) {
	return f.remaining, f.remaining != 0
}

func (f *fake) Lease(ctx context.Context, r service.LeaseCommand) (service.LeaseGrant, error) {
	if f.leaseWaits {
		<-ctx.Done()
		return service.LeaseGrant{}, fmt.Errorf("%w: it took too long", service.ErrNotApplied)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leases = append(f.leases, r)
	return f.grant, f.leaseErr
}

func (f *fake) ListLeases(_ context.Context, q service.LeaseQuery) (service.LeaseList, error) {
	f.leaseQuery = q
	list := f.leaseList
	list.Leases = slices.DeleteFunc(slices.Clone(list.Leases), func(h service.NamedHint) bool { return !q.Keep(h.Name) })
	return list, f.leaseErr
}

func (f *fake) ShowLease(string) (service.LeaseHint, bool) {
	return f.hint, f.hint != service.LeaseHint{}
}

func (f *fake) ListMembers() (api.MemberList, error) { return f.members, f.memberErr }

func (f *fake) ChangeMembers(timeout time.Duration, op members.Operation) (api.MemberOperation, error) {
	f.asked("change", timeout, plain(op))
	return f.operation, f.memberErr
}

func (f *fake) PlanChange(timeout time.Duration, op members.Operation) (api.MemberPlan, error) {
	f.asked("plan", timeout, plain(op))
	return f.plan, f.memberErr
}

func (f *fake) CancelChange(timeout time.Duration, id string) (api.MemberOperation, error) {
	f.asked("cancel", timeout, id)
	return f.operation, f.memberErr
}

func (f *fake) DrainNode(timeout time.Duration, node ballot.NodeID, off, force bool) error {
	f.asked("drain", timeout, node, off, force)
	return f.memberErr
}

// plain is an operation that is printed with all its fields.
type plain members.Operation

// asked records what reached the backend about members.
func (f *fake) asked(what string, details ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changes = append(f.changes, what+fmt.Sprintf(strings.Repeat(" %+v", len(details)), details...))
}

func (f *fake) Ready() error    { return f.readyErr }
func (f *fake) Serves() error   { return nil }
func (f *fake) Drained() bool   { return f.drained }
func (f *fake) Full() string    { return f.full }
func (f *fake) Peers() []string { return f.peers }
func (f *fake) Leader() string  { return f.leader }
func (f *fake) Master() uint64  { return f.master.Load() }

// apply has c applied, as a client's write that is done.
func (f *fake) apply(t testing.TB, c kv.Command) kv.Result {
	t.Helper()
	r, err := f.Write(time.Second, c, nil)
	if err != nil || r.Code != kv.CodeDone {
		t.Fatalf("%+v: %+v %v", c, r, err)
	}
	return r
}

func (f *fake) set(t testing.TB, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if _, err := f.Write(time.Second, kv.Command{Op: kv.OpSet, Key: pairs[i], Value: []byte(pairs[i+1])}, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// testConfig is served under the names that httptest and the tests that write to a connection use.
func testConfig() Config {
	return Config{Config: service.Config{Logger: zerolog.Nop()}, Addr: "127.0.0.1:0", Version: "1.2.3",
		AllowedHosts: []string{"example.com", "x"}}
}

func newServer(t testing.TB, f *fake, change ...func(*Config)) *Server {
	cfg := testConfig()
	cfg.Hub = f.hub
	for _, c := range change {
		c(&cfg)
	}
	s, err := New(cfg, service.FrontOf(f))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// call is one request through the handler; headers are "Name: value".
func call(s *Server, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	var b io.Reader
	if body != "" {
		b = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, target, b)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if wrong := checkCode(w.Code, w.Header()); wrong != "" { // clients believe nothing else
		panic(fmt.Sprintf("%s %s: %s", method, target, wrong))
	}
	return w
}

// serve runs s on a real socket until the test ends.
func serve(t testing.TB, s *Server) string {
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s.Addr()
}

// dial opens a raw connection that does not outlive the test.
func dial(t testing.TB, addr string) net.Conn {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

// say writes text and returns all that comes until the other side closes.
func say(t testing.TB, addr, text string) string {
	c := dial(t, addr)
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatalf("%v after %q", err, b)
	}
	return string(b)
}

// code returns the code of an answer, "" for a success.
func code(w *httptest.ResponseRecorder) api.Code { return api.Code(head(w, api.HeaderError)) }

// says reports whether the text of an answer has that code.
func says(answer string, c api.Code) bool {
	return strings.Contains(answer, "\r\n"+api.HeaderError+": "+string(c)+"\r\n")
}

func head(w *httptest.ResponseRecorder, name string) string { return http.Header(w.Header()).Get(name) }

// reached describes the calls of the backend, except reads.
func (f *fake) reached() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprint(f.writes, " ", f.last.Key, " ", f.transfer, " ", len(f.leases), " ", len(f.changes))
}

// described returns the routes that openapi.json describes: all but the second path of the empty key, and the web page.
func described(s *Server) []route {
	return slices.DeleteFunc(slices.Clone(s.routes), func(r route) bool {
		return r.path == keysPath || r.name == pageRoute
	})
}

func (f *fake) GetMany(time.Duration, service.Mode, []string, func(int, kv.Entry) bool) (uint64, error) {
	panic("nothing here reads many keys")
}

func (f *fake) KeyCount() (keys int, known bool) { return 0, false }
