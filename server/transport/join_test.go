package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/wire"
)

func newcomer() wire.JoinMsg {
	return wire.JoinMsg{Operation: "join-1", Store: store(4), Name: "four", PeerAddr: "d:4", ClientAddr: "d:8500",
		Replace: "three", Constants: testConstants}
}

// welcome returns what a node of members 1 to 3 answers the newcomer.
func welcome() wire.JoinedMsg {
	m := members(1, 2, 3)
	m.Change, m.NonVoters = 1, []ident.Member{{Node: 4, Store: store(4), Name: "four", PeerAddr: "d:4"}}
	return wire.JoinedMsg{Node: 4, Cluster: ident.ClusterID{0xcc}, Membership: m}
}

// host is a node of members 1 to 3 that answers newcomers with answer.
func host(
	t *testing.T, id ballot.NodeID, answer func(context.Context, wire.JoinMsg) (wire.JoinedMsg, error),
) (*node, string) {
	t.Helper()
	n := listen(t, id, "", func(c *Config, _ *wire.Hello) { c.Join = answer })
	n.Serve(n, members(1, 2, 3), map[ballot.NodeID]string{1: "a:1", 2: "127.0.0.1:1", 3: "127.0.0.1:1"})
	return n, n.Addr().String()
}

// A node that joins is referred to the master, and gets its id and a membership with all addresses that are known.
func TestJoin(t *testing.T) {
	var got wire.JoinMsg
	_, master := host(t, 1, func(_ context.Context, m wire.JoinMsg) (wire.JoinedMsg, error) {
		got = m
		return welcome(), nil
	})
	_, asked := host(t, 2, func(context.Context, wire.JoinMsg) (wire.JoinedMsg, error) {
		return wire.JoinedMsg{Ask: master}, nil
	})
	joined, err := Join(within(t), asked, newcomer(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := welcome()
	for i, addr := range []string{"a:1", "127.0.0.1:1", "127.0.0.1:1"} {
		want.Membership.Members[i].PeerAddr = addr
	}
	if d := cmp.Diff(want, joined); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(newcomer(), got); d != "" {
		t.Error(d)
	}
}

func TestJoinIsRefused(t *testing.T) {
	final, passing := &Refusal{Reason: wire.ReasonJoin, Text: "node three is heard"}, errors.New("no master is known")
	_, n := host(t, 2, func(_ context.Context, m wire.JoinMsg) (wire.JoinedMsg, error) {
		if m.Replace == "three" {
			return wire.JoinedMsg{}, final
		}
		return wire.JoinedMsg{}, passing
	})
	deaf := listen(t, 3, "", nil)
	for name, c := range map[string]struct {
		addr   string
		change func(*wire.JoinMsg)
		reason wire.Reason
		words  []string
	}{
		"final":     {n, func(*wire.JoinMsg) {}, wire.ReasonJoin, []string{n, final.Text}},
		"for now":   {n, func(m *wire.JoinMsg) { m.Replace = "" }, wire.ReasonNotReady, []string{passing.Error()}},
		"not ready": {deaf.Addr().String(), func(*wire.JoinMsg) {}, wire.ReasonNotReady, []string{"node 3 takes no part"}},
		"settings": {n, func(m *wire.JoinMsg) { m.Constants.Margin = 0 }, wire.ReasonConstants,
			[]string{"--lease-margin is 10ms on node 2 and 0s on the node that joins"}},
		"another cluster": {n, func(m *wire.JoinMsg) { m.Cluster = ident.ClusterID{0xdd} }, wire.ReasonCluster,
			[]string{"was in cluster dd0000", "node 2 is of cluster cc0000", "--give-up"}},
		"voter": {n, func(m *wire.JoinMsg) { m.Store = store(3) }, wire.ReasonRolledBack,
			[]string{"rolled back", store(3).String(), "node 3", "--replace node-3"}},
	} {
		m := newcomer()
		c.change(&m)
		_, err := Join(within(t), c.addr, m, nil)
		var r *Refusal
		if !errors.As(err, &r) || r.Reason != c.reason || !r.ByPeer {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, w := range c.words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q is not in: %v", name, w, err)
			}
		}
	}
}

// A non-voter that was let in and then connected has taken part: if its store wants to join again, it was rolled back.
// One that never connected lost the answer.
func TestJoinAgain(t *testing.T) {
	n := listen(t, 99, "", func(c *Config, h *wire.Hello) {
		h.ClientAddr = ""
		c.Join = func(context.Context, wire.JoinMsg) (wire.JoinedMsg, error) { return welcome(), nil }
	})
	m := welcome().Membership
	m.Members = append(m.Members, ident.Member{Node: 99, Store: store(99)})
	n.Serve(n, m, nil)
	if joined, err := Join(within(t), n.Addr().String(), newcomer(), nil); err != nil || joined.Node != 4 {
		t.Fatalf("%+v, %v", joined, err)
	}
	dumb(t, n.Addr().String(), honest(4), 99, wire.KindLog)
	n.awaitEvent(t, "+log 4", 1)
	var r *Refusal
	if _, err := Join(within(t), n.Addr().String(), newcomer(), nil); !errors.As(err, &r) || r.Reason != wire.ReasonRolledBack {
		t.Fatal(err)
	}
}

// Nodes that name each other as the master are not asked for ever, nor is one that lets in another store.
func TestJoinTrustsNobodyTooFar(t *testing.T) {
	var other string
	_, a := host(t, 1, func(context.Context, wire.JoinMsg) (wire.JoinedMsg, error) { return wire.JoinedMsg{Ask: other}, nil })
	_, b := host(t, 2, func(context.Context, wire.JoinMsg) (wire.JoinedMsg, error) { return wire.JoinedMsg{Ask: a}, nil })
	other = b
	if _, err := Join(within(t), a, newcomer(), nil); err == nil || !strings.Contains(err.Error(), "do not agree") {
		t.Error(err)
	}
	_, c := host(t, 3, func(context.Context, wire.JoinMsg) (wire.JoinedMsg, error) {
		w := welcome()
		w.Membership.NonVoters[0].Store = store(9)
		return w, nil
	})
	if _, err := Join(within(t), c, newcomer(), nil); err == nil || !strings.Contains(err.Error(), "has another store") {
		t.Error(err)
	}
}

// The joins that wait at a node are bounded, and end with it.
func TestJoinsAreBounded(t *testing.T) {
	began := make(chan struct{}, maxJoins)
	n, addr := host(t, 2, func(ctx context.Context, _ wire.JoinMsg) (wire.JoinedMsg, error) {
		began <- struct{}{}
		<-ctx.Done()
		return wire.JoinedMsg{}, ctx.Err()
	})
	ended := make(chan error, maxJoins)
	for range maxJoins {
		go func() {
			_, err := Join(within(t), addr, newcomer(), nil)
			ended <- err
		}()
		<-began
	}
	var r *Refusal
	if _, err := Join(within(t), addr, newcomer(), nil); !errors.As(err, &r) || !strings.Contains(r.Text, "at the same time") {
		t.Error(err)
	}
	closed := time.Now()
	n.Close()
	if took := time.Since(closed); took > joinTimeout/2 {
		t.Errorf("closed after %v", took)
	}
	for range maxJoins {
		if err := <-ended; err == nil {
			t.Error("joined a node that is closed")
		}
	}
}

// Join ends with its context, whatever the other side does.
func TestJoinEndsWithItsContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if c, err := l.Accept(); err == nil {
			defer c.Close()
			c.Read(make([]byte, 1))
			cancel()
			io.Copy(io.Discard, c)
		}
	}()
	began := time.Now()
	if _, err := Join(ctx, l.Addr().String(), newcomer(), nil); err == nil || time.Since(began) > testTimeout/2 {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

func TestJoinCommand(t *testing.T) {
	for want, c := range map[string]struct {
		member *ident.Member
		data   string
	}{
		"kvnode --join h:1 --data /d":                              {nil, "/d"},
		"kvnode --join h:1 --replace node-3 --data /d":             {&ident.Member{Node: 3}, "/d"},
		`kvnode --join h:1 --replace '$(x)' --data 'it'\''s mine'`: {&ident.Member{Node: 3, Name: "$(x)"}, "it's mine"},
	} {
		if got := joinCommand("h:1", c.member, c.data); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// The port for clients is the likeliest mistake. It answers in HTTP, and asking it again is of no use.
func TestJoinAtThePortForClients(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if nc, err := l.Accept(); err == nil {
			_, _ = io.WriteString(nc, "HTTP/1.1 400 Bad Request\r\n\r\n")
			_, _ = io.Copy(io.Discard, nc)
			nc.Close()
		}
	}()
	_, err = Join(context.Background(), l.Addr().String(), newcomer(), nil)
	var r *Refusal
	if !errors.As(err, &r) || r.Reason == wire.ReasonNotReady || !strings.Contains(err.Error(), "--peer") {
		t.Error(err)
	}
}

// A port that wants TLS, or one of another program, may end the connection in silence. What to give is said all the same.
func TestJoinWhereNobodyAnswers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if nc, err := l.Accept(); err == nil {
			_, _ = nc.Read(make([]byte, 1<<10))
			nc.Close()
		}
	}()
	_, err = Join(context.Background(), l.Addr().String(), newcomer(), nil)
	for _, word := range []string{"--peer", "--tls-cert"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v, want %s", err, word)
		}
	}
}

// Only a member of a cluster answers a greeting, and lets nobody in by it.
func TestGreet(t *testing.T) {
	_, member := host(t, 2, func(context.Context, wire.JoinMsg) (wire.JoinedMsg, error) {
		t.Error("a greeting asks to be let in")
		return welcome(), nil
	})
	deaf := listen(t, 3, "", nil)
	if err := Greet(within(t), member, newcomer(), nil); err != nil {
		t.Error(err)
	}
	var r *Refusal
	err := Greet(within(t), deaf.Addr().String(), newcomer(), nil)
	if !errors.As(err, &r) || r.Reason != wire.ReasonNotReady {
		t.Errorf("a node of no cluster: %v", err)
	}
	m := newcomer()
	m.Cluster = ident.ClusterID{0xdd}
	if err := Greet(within(t), member, m, nil); !errors.As(err, &r) || r.Reason != wire.ReasonCluster {
		t.Errorf("a member of another cluster: %v", err)
	}
}
