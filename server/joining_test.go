package server

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/members"
	"tenure/server/service"
	"tenure/server/transport"
	"tenure/server/wire"
	"tenure/storage"
)

// city is a cluster of one member that only exists as far as nodes that join see it.
type city struct {
	transport.Handler // for what is never called
	*transport.Transport

	mu     sync.Mutex
	asked  []wire.JoinMsg
	answer func(nth int, m wire.JoinMsg) (wire.JoinedMsg, error)
}

func (*city) Connected(ballot.NodeID, wire.Kind)                         {}
func (*city) Disconnected(ballot.NodeID, wire.Kind)                      {}
func (*city) LeaseFrame(ballot.NodeID, ballot.Incarnation, []byte)       {}
func (*city) LogFrame(ballot.NodeID, ballot.Incarnation, []byte, bool)   {}
func (*city) NamedFrame(ballot.NodeID, ballot.Incarnation, []byte, bool) {}
func (c *city) join(_ context.Context, m wire.JoinMsg) (wire.JoinedMsg, error) {
	c.mu.Lock()
	c.asked = append(c.asked, m)
	n := len(c.asked)
	c.mu.Unlock()
	return c.answer(n, m)
}

func (c *city) questions() []wire.JoinMsg {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

var cityMember = ident.Member{Node: 1, Store: ident.StoreID{1}}

// newCity starts a city. Its answers are those of the function; nil lets everybody in as node 4.
func newCity(t *testing.T, cfg Config, answer func(nth int, m wire.JoinMsg) (wire.JoinedMsg, error)) *city {
	t.Helper()
	c := &city{answer: answer}
	if answer == nil {
		c.answer = func(_ int, m wire.JoinMsg) (wire.JoinedMsg, error) { return asNode4(m), nil }
	}
	hello := wire.Hello{Cluster: ident.ClusterID{7}, Node: 1, Store: cityMember.Store, Constants: cfg.constants(),
		Incarnation: ballot.Incarnation{Restart: 1, Node: 1}}
	var err error
	c.Transport, err = transport.Listen(transport.Config{Self: 1, Addr: "127.0.0.1:0", Hello: func() wire.Hello { return hello },
		Log: zerolog.Nop(), Join: c.join})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.Serve(c, ident.Membership{Number: 1, Members: []ident.Member{cityMember}}, nil)
	return c
}

// awaitStatus waits until the node, which may not listen yet, shows a status for which cond holds.
func (h *host) awaitStatus(t *testing.T, cond func(api.Status) bool) {
	t.Helper()
	h.until(t, "as it should be", func() bool {
		var s api.Status
		code, text, _ := h.call(http.MethodGet, "/v1/status", "")
		return code == http.StatusOK && json.Unmarshal([]byte(text), &s) == nil && cond(s)
	})
}

// asNode4 lets m in as node 4.
func asNode4(m wire.JoinMsg) wire.JoinedMsg {
	return wire.JoinedMsg{Node: 4, Cluster: ident.ClusterID{7}, Membership: ident.Membership{Number: 1, Change: 1,
		Members:   []ident.Member{cityMember},
		NonVoters: []ident.Member{{Node: 4, Store: m.Store, Name: m.Name, PeerAddr: m.PeerAddr}}}}
}

func joinConfig(t *testing.T) Config {
	t.Helper()
	return Config{
		Data: filepath.Join(t.TempDir(), "data"), ClientAddr: freeAddr(t), PeerAddr: freeAddr(t), Join: "127.0.0.1:1",
		LeaseTime: time.Second, MaxLeaseTime: time.Second, ClockDriftPPM: 10_000, MaxValueBytes: 1 << 20,
		Logger: zerolog.Nop(),
	}
}

// A node that joins asks until it is let in, always as the same, and is a member from then on, whomever it is told to
// join.
func TestANodeJoins(t *testing.T) {
	cfg := joinConfig(t)
	cfg.Replace = "three"
	c := newCity(t, cfg, func(nth int, m wire.JoinMsg) (wire.JoinedMsg, error) {
		if nth < 3 {
			return wire.JoinedMsg{}, errors.New("another change is under way")
		}
		return asNode4(m), nil
	})
	cfg.Join = c.Addr().String()
	h := &host{cfg: cfg}
	h.start(t)
	follows := func(s api.Status) bool { return s.Node == 4 && s.Cluster == (ident.ClusterID{7}).String() }
	h.awaitStatus(t, follows)
	h.stop(t)
	asked := c.questions()
	if len(asked) != 3 || asked[0] != asked[2] || !strings.HasPrefix(asked[0].Operation, "join-") {
		t.Errorf("asked %+v", asked)
	}
	if m := asked[0]; m.Name != "three" || m.Replace != "three" || m.PeerAddr != cfg.PeerAddr || m.ClientAddr != cfg.ClientAddr ||
		m.Constants != cfg.constants() {
		t.Errorf("asked %+v", m)
	}
	c.Close()
	h.start(t) // nobody could let it in now
	h.awaitStatus(t, follows)
	h.stop(t)
}

func TestANodeIsNotLetIn(t *testing.T) {
	for reason, want := range map[wire.Reason]error{
		wire.ReasonJoin: ErrConfig, wire.ReasonNotMember: ErrNoSuchMember, wire.ReasonConstants: ErrConfig,
	} {
		cfg := joinConfig(t)
		c := newCity(t, cfg, func(int, wire.JoinMsg) (wire.JoinedMsg, error) {
			return wire.JoinedMsg{}, &transport.Refusal{Reason: reason, Text: "stay away"}
		})
		cfg.Join = c.Addr().String()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		err := Run(ctx, cfg)
		if !errors.Is(err, want) || !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "stay away") {
			t.Errorf("reason %d: %v", reason, err)
		}
		if id, ok, err := storage.ReadIdentity(cfg.Data); err != nil || !ok || id.Formed {
			t.Errorf("reason %d: %+v, %v, %v", reason, id, ok, err)
		}
		if n := len(c.questions()); n != 1 {
			t.Errorf("asked %d times", n)
		}
	}
}

// Who waits to be let in says so to clients, and stops when it is told to.
func TestWaitingToJoinIsShown(t *testing.T) {
	h := &host{cfg: joinConfig(t)}
	h.start(t)
	h.awaitStatus(t, func(s api.Status) bool {
		return strings.Contains(s.Problem, waitsForCluster+"127.0.0.1:1") && strings.Contains(s.Problem, "refused")
	})
	h.stop(t)
	nothingIn(t, h.cfg.Data)
}

// nothingIn requires that there is no file in dir.
func nothingIn(t *testing.T, dir string) {
	t.Helper()
	if files, err := os.ReadDir(dir); len(files) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there are files in the data directory: %v, %v", files, err)
	}
}

// A node leaves nothing in its directory if --join names a client port or a node of another cluster, or if its own
// configuration is invalid.
func TestAJoinThatCannotBeLeavesNothing(t *testing.T) {
	one := startCluster(t, 1)[0]
	for _, c := range []struct {
		change func(*Config)
		words  string
	}{
		{func(c *Config) { c.Join = one.cfg.ClientAddr }, "is not the port of a node for its peers"},
		{func(c *Config) { c.JoinCluster = ident.ClusterID{0xdd} }, "was in cluster dd0000"},
		{func(c *Config) { c.NodeName = "a name" }, "no spaces"},
	} {
		cfg := joinConfig(t)
		cfg.Join = one.cfg.PeerAddr
		c.change(&cfg)
		if err := Run(t.Context(), cfg); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%v, want %q", err, c.words)
		}
		nothingIn(t, cfg.Data)
	}
}

// A port that is taken must not cost the cluster a member that cannot run.
func TestATakenPortAsksNobody(t *testing.T) {
	cfg := joinConfig(t)
	c := newCity(t, cfg, nil)
	cfg.Join = c.Addr().String()
	taken, err := net.Listen("tcp", cfg.PeerAddr)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if err := Run(t.Context(), cfg); !errors.Is(err, transport.ErrListen) || len(c.questions()) > 0 {
		t.Errorf("%v, asked %v", err, c.questions())
	}
}

// A node that has lost its disk and was started once with its old id joins under another one.
func TestAWipedNodeJoinsUnderAnotherID(t *testing.T) {
	cfg := joinConfig(t)
	s, err := storage.Open(cfg.Data, storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.SetNode(3), s.Close()); err != nil {
		t.Fatal(err)
	}
	c := newCity(t, cfg, nil)
	cfg.Node, cfg.Join, cfg.PeerAdvertise, cfg.ClientAdvertise = 3, c.Addr().String(), "three:1", "three:2"
	h := &host{cfg: cfg}
	h.start(t)
	h.awaitStatus(t, func(s api.Status) bool { return s.Node == 4 })
	h.stop(t)
	if m := c.questions()[0]; m.Name != "node-3" || m.PeerAddr != "three:1" || m.ClientAddr != "three:2" {
		t.Errorf("asked %+v", m)
	}
}

func TestNamesThatNoMemberCanHave(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"--node-name": func(c *Config) { c.NodeName = strings.Repeat("n", ident.MaxNameBytes+1) },
		"\"a b\"":     func(c *Config) { c.NodeName = "a b" },
		"--replace":   func(c *Config) { c.NodeName, c.Replace = "a", "kn\u00f6ten" },
	} {
		cfg := joinConfig(t)
		change(&cfg)
		if err := Run(t.Context(), cfg); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// clerk is an admitter that does as a test wants.
type clerk func(time.Duration, members.Operation) (members.Record, error)

func (f clerk) Join(d time.Duration, op members.Operation) (members.Record, error) { return f(d, op) }

func TestLetIn(t *testing.T) {
	hosts := startCluster(t, 1)
	n := newNode(hosts[0].cfg, nil)
	hosts[0].stop(t)
	var err error
	if n.store, err = storage.Open(n.cfg.Data, storage.Options{}); err != nil {
		t.Fatal(err)
	}
	defer n.store.Close()
	m := wire.JoinMsg{Operation: "join-1", Store: ident.StoreID{4}, Name: "four", Replace: "three", PeerAddr: "d:1",
		ClientAddr: "d:2", ReplaceAfter: time.Minute}
	member := ident.Member{Store: m.Store, Name: "four", PeerAddr: "d:1", ClientAddr: "d:2"}
	var got members.Operation
	listed := members.First(n.store.Identity().Membership)
	listed.Membership.Change, listed.Membership.NonVoters = 1, []ident.Member{member}
	listed.Membership.NonVoters[0].Node = 4
	n.admission = clerk(func(d time.Duration, op members.Operation) (members.Record, error) {
		if d <= 0 || d >= time.Second {
			t.Errorf("has %v of a second", d)
		}
		got = op
		return listed, nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	joined, err := n.letIn(ctx, m)
	if err != nil || joined.Node != 4 || joined.Cluster != n.store.Identity().Cluster || joined.Membership.Change != 1 {
		t.Fatalf("%+v, %v", joined, err)
	}
	if got.ID != "join-1" || got.Kind != members.Replace || got.Name != "three" || !got.Unheard || got.Member != member ||
		got.ReplaceAfter != time.Minute {
		t.Errorf("asked for %+v", got)
	}
	m.Replace, m.NonVoter = "", true
	if _, err := n.letIn(ctx, m); err != nil || got.Kind != members.Add || got.Unheard || !got.NonVoter {
		t.Errorf("%v, asked for %+v", err, got)
	}
	copied := m
	copied.PeerAddr = "e:1"
	var r *transport.Refusal
	if _, err := n.letIn(ctx, copied); !errors.As(err, &r) || r.Reason != wire.ReasonJoin || !strings.Contains(r.Text, "d:1") {
		t.Errorf("a copy of a directory that was let in: %v", err)
	}

	for code, want := range map[api.Code]wire.Reason{
		api.CodeInvalid: wire.ReasonJoin, api.CodeNotMember: wire.ReasonNotMember, api.CodeMemberBusy: 0, api.CodeMemberState: 0,
	} {
		n.admission = clerk(func(time.Duration, members.Operation) (members.Record, error) {
			return members.Record{}, &service.Error{Code: code, Text: "no"}
		})
		_, err := n.letIn(ctx, m)
		var r *transport.Refusal
		if err == nil || err.Error() != "no" || errors.As(err, &r) != (want != 0) || r != nil && r.Reason != want {
			t.Errorf("%s: %v", code, err)
		}
	}
	n.admission = clerk(func(time.Duration, members.Operation) (members.Record, error) {
		return members.First(n.store.Identity().Membership), nil
	})
	if _, err := n.letIn(ctx, m); !errors.As(err, &r) || r.Reason != wire.ReasonJoin {
		t.Errorf("a node that was removed again: %v", err)
	}
	n.admission = clerk(func(time.Duration, members.Operation) (members.Record, error) {
		return members.First(ident.Membership{Number: 1, Members: []ident.Member{{Node: 1}, listed.Membership.NonVoters[0]}}), nil
	})
	if _, err := n.letIn(ctx, m); !errors.As(err, &r) || r.Reason != wire.ReasonRolledBack {
		t.Errorf("an older copy of a voter's directory: %v", err)
	}
}

// joiner is a node that joins the cluster of another one.
func (h *host) joiner(t *testing.T, change func(*Config)) *host {
	t.Helper()
	cfg := joinConfig(t)
	cfg.LeaseTime, cfg.MaxLeaseTime, cfg.LeaseMargin = h.cfg.LeaseTime, h.cfg.MaxLeaseTime, h.cfg.LeaseMargin
	cfg.Join = h.cfg.PeerAddr
	if change != nil {
		change(&cfg)
	}
	j := &host{cfg: cfg}
	j.start(t)
	return j
}

// A cluster grows from one node to three, and a node that has lost its disk comes back with one command.
func TestAClusterGrowsAndReplaces(t *testing.T) {
	t.Parallel()
	one := startCluster(t, 1)[0]
	two := one.joiner(t, nil)
	two.awaitStatus(t, func(s api.Status) bool { return s.Node == 2 && s.Role == api.RoleFollower })
	three := two.joiner(t, nil)
	three.awaitStatus(t, func(s api.Status) bool { return s.Node == 3 && s.Role == api.RoleFollower })
	if code, text, _ := one.call(http.MethodPut, "/v1/kv/a", "1"); code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	three.stop(t)
	four := one.joiner(t, func(c *Config) { c.Replace = "node-3" })
	four.awaitStatus(t, func(s api.Status) bool { return s.Node == 4 && s.Role == api.RoleFollower })
	if code, text, _ := four.call(http.MethodGet, "/v1/kv/a?raw", ""); code != http.StatusOK || text != "1" {
		t.Errorf("%d %s", code, text)
	}
}

func TestWhereClientsOfRedisReachANode(t *testing.T) {
	for _, c := range []struct{ redis, client, advertised, want string }{
		{"", "127.0.0.1:8500", "", ""},
		{"127.0.0.1:6379", "127.0.0.1:8500", "", "127.0.0.1:6379"},
		{"10.0.0.1:6379", "0.0.0.0:8500", "", "10.0.0.1:6379"},
		{"0.0.0.0:6379", "10.0.0.1:8500", "", "10.0.0.1:6379"},
		{":6379", "10.0.0.1:8500", "", "10.0.0.1:6379"},
		{"0.0.0.0:6379", "0.0.0.0:8500", "node-1.example:9500", "node-1.example:6379"},
	} {
		cfg := Config{RedisAddr: c.redis, ClientAddr: c.client, ClientAdvertise: c.advertised}
		if got := cfg.redisAdvertised(); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// A node that was not told where to listen for others does without if somebody else listens there, and says so.
func TestANodeAloneWhosePeerPortIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	h := makeCluster(t, 1, func(c *Config) { c.PeerAddr, c.PeerOptional = taken.Addr().String(), true })[0]
	logged := h.watchLog()
	h.start(t)
	h.awaitReady(t)
	if m := h.members(t).Members[0]; m.PeerAddress != "" {
		t.Errorf("a node that listens for no others is listed at %s", m.PeerAddress)
	}
	if !logged.has("listens for no other nodes, and none can join it") {
		t.Error("the log does not say so")
	}
	h.stop(t)
	h.cfg.PeerOptional = false
	if err := Run(t.Context(), h.cfg); !errors.Is(err, transport.ErrListen) {
		t.Errorf("a port that was asked for is taken: %v", err)
	}
}
