package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/client/clienttest"
)

// nearWorld is a cluster of three in a bubble whose members advertise n1:1, n2:1 and n3:1, and what its nodes were
// asked.
type nearWorld struct {
	*world
	mu    sync.Mutex
	asked []string // "write 2" or "read 2": what, and the node
	fault func(clienttest.Request) clienttest.Fault
}

func inNearWorld(t *testing.T, f func(t *testing.T, w *nearWorld)) {
	t.Helper()
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		n := &nearWorld{world: w}
		w.EditMembers(func(l []api.Member) []api.Member {
			for i := range l {
				l[i].ClientAddress = w.names[i]
			}
			return l
		})
		w.Inject(func(r clienttest.Request) clienttest.Fault {
			n.mu.Lock()
			defer n.mu.Unlock()
			switch {
			case r.IsWrite():
				n.asked = append(n.asked, fmt.Sprint("write ", r.Node))
			case strings.HasPrefix(r.Path, api.PathKV):
				n.asked = append(n.asked, fmt.Sprint("read ", r.Node))
			case r.Path == api.PathMembers:
				n.asked = append(n.asked, fmt.Sprint("look ", r.Node))
			}
			if n.fault != nil {
				return n.fault(r)
			}
			return clienttest.None
		})
		f(t, n)
	})
}

// dial returns a client of all nodes, in this order.
func (w *nearWorld) dial(t *testing.T, cfg client.Config, nodes ...int) *client.Client {
	t.Helper()
	for _, n := range nodes {
		cfg.Endpoints = append(cfg.Endpoints, w.names[n-1])
	}
	if cfg.DialContext == nil {
		cfg.DialContext = w.net.dial
	}
	return w.dialled(t, cfg)
}

// writeAt writes, and waits for what the client does in the background.
func writeAt(t *testing.T, c *client.Client) {
	t.Helper()
	ctx, cancel := within(10 * time.Second)
	defer cancel()
	if _, err := c.Set(ctx, "k", nil, client.WriteOptions{}); err != nil {
		t.Error(err)
	}
	synctest.Wait()
}

// readAt reads, and waits likewise.
func readAt(t *testing.T, c *client.Client, m client.Mode) {
	t.Helper()
	ctx, cancel := within(10 * time.Second)
	defer cancel()
	if _, _, err := c.Get(ctx, "k", client.ReadOptions{Mode: m}); err != nil && !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	synctest.Wait()
}

// expect compares what was asked since the last time, but for looks.
func (w *nearWorld) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	got := slices.DeleteFunc(w.asked, func(s string) bool { return strings.HasPrefix(s, "look") })
	if w.asked = nil; !slices.Equal(got, want) {
		t.Errorf("%s: asked %q, want %q", what, got, want)
	}
}

// settle has the client learn where the master is.
func (w *nearWorld) settle(t *testing.T, c *client.Client) {
	t.Helper()
	for range 3 {
		writeAt(t, c)
	}
	w.mu.Lock()
	w.asked = nil
	w.mu.Unlock()
}

// Writes go to the master once an answer has named it and a node answers at its address, whoever the master is. Reads
// stay with the node that they are at.
func TestWritesGoToTheMaster(t *testing.T) {
	inNearWorld(t, func(t *testing.T, w *nearWorld) {
		w.SetMaster(2)
		c := w.dial(t, client.Config{}, 1)
		defer c.Close()
		writeAt(t, c) // the first answer of the cluster
		writeAt(t, c) // its address is looked at
		w.expect(t, "at first", "write 1", "write 1")
		writeAt(t, c)
		readAt(t, c, client.Default)
		readAt(t, c, client.Stale)
		writeAt(t, c)
		w.expect(t, "then", "write 2", "read 1", "read 1", "write 2")
		w.SetMaster(3)
		writeAt(t, c) // passed on, by a node that names the new master
		writeAt(t, c) // its address is looked at
		writeAt(t, c)
		w.expect(t, "after a change", "write 2", "write 1", "write 3")
	})
}

func TestReadsAtMaster(t *testing.T) {
	inNearWorld(t, func(t *testing.T, w *nearWorld) {
		w.SetMaster(2)
		c := w.dial(t, client.Config{ReadsAtMaster: true}, 1)
		defer c.Close()
		w.settle(t, c)
		ctx, cancel := within(10 * time.Second)
		defer cancel()
		readAt(t, c, client.Default)
		readAt(t, c, client.Consistent)
		_, _, _ = c.List(ctx, "", client.ListOptions{})
		w.expect(t, "reads", "read 2", "read 2", "read 2")
		readAt(t, c, client.Stale)
		_, _, _ = c.List(ctx, "", client.ListOptions{Mode: client.Stale})
		_, _, _ = c.GetWait(ctx, "k", 1, time.Millisecond, client.ReadOptions{})
		w.expect(t, "those that stay", "read 1", "read 1", "read 1")
	})
}

// Leases need no master.
func TestLeasesStayWhereTheyAre(t *testing.T) {
	inNearWorld(t, func(t *testing.T, w *nearWorld) {
		w.SetMaster(2)
		c := w.dial(t, client.Config{}, 1)
		defer c.Close()
		w.settle(t, c)
		ctx, cancel := within(10 * time.Second)
		defer cancel()
		l, err := c.Leases().Acquire(ctx, "l", client.LeaseOptions{TTL: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(ctx); err != nil {
			t.Error(err)
		}
		w.expect(t, "leases", "write 1", "write 1")
	})
}

// One request of a short-lived program is no more than it was.
func TestASingleWriteAsksNobodyElse(t *testing.T) {
	inNearWorld(t, func(t *testing.T, w *nearWorld) {
		w.SetMaster(2)
		c := w.dial(t, client.Config{}, 1)
		defer c.Close()
		readAt(t, c, client.Default)
		writeAt(t, c)
		readAt(t, c, client.Default)
		w.mu.Lock()
		defer w.mu.Unlock()
		if slices.Sort(w.asked); !slices.Equal(w.asked, []string{"look 1", "read 1", "read 1", "write 1"}) {
			t.Errorf("asked %q", w.asked)
		}
		if i := slices.Index(w.net.dials, w.names[1]); i >= 0 {
			t.Errorf("dialled %q", w.net.dials)
		}
	})
}

// A master whose address cannot be reached from here costs no write anything, and is looked for seldom.
func TestAMasterOutOfReachCostsNothing(t *testing.T) {
	inNearWorld(t, func(t *testing.T, w *nearWorld) {
		w.SetMaster(2)
		dialled := 0
		c := w.dial(t, client.Config{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == w.names[1] {
				dialled++
				<-ctx.Done() // no SYN is answered
				return nil, ctx.Err()
			}
			return w.net.dial(ctx, network, address)
		}}, 1)
		defer c.Close()
		began := time.Now()
		for range 600 {
			writeAt(t, c)
			time.Sleep(100 * time.Millisecond)
		}
		if d := time.Since(began); d != time.Minute {
			t.Errorf("600 writes took %v", d-time.Minute)
		}
		if dialled < 3 || dialled > 6 {
			t.Errorf("it was looked for %d times in a minute", dialled)
		}
	})
}

// A master that dies or does not apply is left for ten seconds. The retry is the same write: it is applied once.
func TestAMasterOfNoUseIsLeft(t *testing.T) {
	for _, x := range []struct {
		name  string
		fault clienttest.Fault
	}{
		{"not applied", clienttest.Busy},
		{"cut after it was applied", clienttest.DropApplied},
		{"silent", clienttest.HangApplied},
	} {
		inNearWorld(t, func(t *testing.T, w *nearWorld) {
			w.SetMaster(2)
			c := w.dial(t, client.Config{}, 1)
			defer c.Close()
			w.settle(t, c)
			ctx := context.Background()
			if _, err := c.Set(ctx, "n", []byte("0"), client.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
			var copies []string
			w.mu.Lock()
			w.asked = nil
			w.fault = func(r clienttest.Request) clienttest.Fault {
				if r.IsWrite() {
					copies = append(copies, r.Key+" "+r.Base)
				}
				if r.IsWrite() && r.Node == 2 {
					return x.fault
				}
				return clienttest.None
			}
			w.mu.Unlock()
			if n, _, err := c.Add(ctx, "n", 1, client.WriteOptions{}); n != 1 || err != nil {
				t.Errorf("%s: %d, %v", x.name, n, err)
			}
			w.expect(t, x.name, "write 2", "write 1")
			if len(copies) != 2 || copies[0] != copies[1] {
				t.Errorf("%s: sent as %q", x.name, copies)
			}
			writeAt(t, c)
			writeAt(t, c)
			w.expect(t, x.name+", the next writes", "write 1", "write 1")
			w.mu.Lock()
			w.fault = nil
			w.mu.Unlock()
			time.Sleep(11 * time.Second)
			w.settle(t, c)
			writeAt(t, c)
			w.expect(t, x.name+", ten seconds later", "write 2")
		})
	}
}

// A master that is silent is left as soon as another node names another one, and the write goes on as the same.
func TestAMasterThatIsLostIsLeftAtOnce(t *testing.T) {
	for _, mode := range []string{"write", "read"} {
		inNearWorld(t, func(t *testing.T, w *nearWorld) {
			w.SetMaster(2)
			c := w.dial(t, client.Config{ReadsAtMaster: true}, 1)
			defer c.Close()
			w.settle(t, c)
			w.mu.Lock()
			w.fault = func(r clienttest.Request) clienttest.Fault {
				if r.Node == 2 {
					return clienttest.Hang
				}
				return clienttest.None
			}
			w.mu.Unlock()
			began := time.Now()
			time.AfterFunc(600*time.Millisecond, func() { w.SetMaster(3) })
			if mode == "read" {
				readAt(t, c, client.Default)
			} else {
				writeAt(t, c)
			}
			if d := time.Since(began); d < 600*time.Millisecond || d > time.Second {
				t.Errorf("the %s took %v", mode, d)
			}
			w.expect(t, mode, mode+" 2", mode+" 1")
			writeAt(t, c) // node 3 is looked at
			writeAt(t, c)
			w.expect(t, "after the "+mode, "write 1", "write 3")
		})
	}
}

// However many writes wait for a silent master, other nodes are asked about it four times a second.
func TestASilentMasterIsAskedAboutSeldom(t *testing.T) {
	inNearWorld(t, func(t *testing.T, w *nearWorld) {
		w.SetMaster(2)
		c := w.dial(t, client.Config{}, 1)
		defer c.Close()
		w.settle(t, c)
		questions := 0
		w.mu.Lock()
		w.fault = func(r clienttest.Request) clienttest.Fault {
			if r.Path == api.PathStatus {
				questions++
			}
			if r.IsWrite() && r.Node == 2 {
				return clienttest.Hang
			}
			return clienttest.None
		}
		w.mu.Unlock()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				ctx, cancel := within(10 * time.Second)
				defer cancel()
				if _, err := c.Set(ctx, "k", nil, client.WriteOptions{}); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(time.Millisecond)
		}
		all.Wait()
		if questions < 4 || questions > 10 { // in the two seconds of Config.AttemptTimeout
			t.Errorf("%d questions", questions)
		}
	})
}

// A call that ends too early says nothing about the master.
func TestAnEarlyEndIsNoFaultOfTheMaster(t *testing.T) {
	inNearWorld(t, func(t *testing.T, w *nearWorld) {
		w.SetMaster(2)
		c := w.dial(t, client.Config{}, 1)
		defer c.Close()
		w.settle(t, c)
		w.mu.Lock()
		w.fault = func(clienttest.Request) clienttest.Fault { return clienttest.Slow }
		w.mu.Unlock()
		ctx, cancel := within(300 * time.Millisecond)
		defer cancel()
		if _, err := c.Set(ctx, "k", nil, client.WriteOptions{}); !errors.Is(err, client.ErrUnknown) {
			t.Error(err)
		}
		w.mu.Lock()
		w.fault, w.asked = nil, nil
		w.mu.Unlock()
		writeAt(t, c)
		w.expect(t, "the next write", "write 2")
	})
}

// renamed answers with another text in place of the master's number.
type renamed struct {
	http.ResponseWriter
	name func() []string
}

func (r *renamed) WriteHeader(status int) {
	if r.Header()[api.HeaderMaster] != nil {
		r.Header()[api.HeaderMaster] = r.name()
	}
	r.ResponseWriter.WriteHeader(status)
}

// serveRenamed has all nodes answer with other names of the master.
func (w *nearWorld) serveRenamed(name func() []string) {
	for i := range w.names {
		w.kill(i + 1)
		l := newMemListener(w.names[i])
		w.net.mu.Lock()
		w.net.nodes[w.names[i]] = l
		w.net.mu.Unlock()
		h := w.Node(uint64(i + 1)).Handler()
		s := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(&renamed{rw, name}, r)
		})}
		done := make(chan struct{})
		go func() { defer close(done); _ = s.Serve(l) }()
		w.stop[i] = func() { _ = s.Close(); <-done }
	}
}

// Whatever stands in place of the master's number, each write is sent once, without a wait, and few questions are
// asked.
func TestHostileNamesOfTheMaster(t *testing.T) {
	n := 0
	for what, name := range map[string]func() []string{
		"rubbish":    func() []string { return []string{"two; 2"} },
		"long":       func() []string { return []string{strings.Repeat("2", 100_000)} },
		"negative":   func() []string { return []string{"-2"} },
		"none":       func() []string { return []string{""} },
		"zero":       func() []string { return []string{"0"} },
		"no member":  func() []string { return []string{"65535"} },
		"too large":  func() []string { return []string{"99999"} },
		"two values": func() []string { return []string{"3", "2"} },
		"another one in every answer": func() []string {
			n++
			return []string{fmt.Sprint(n % 5)}
		},
	} {
		inNearWorld(t, func(t *testing.T, w *nearWorld) {
			var mu sync.Mutex
			w.serveRenamed(func() []string { mu.Lock(); defer mu.Unlock(); return name() })
			c := w.dial(t, client.Config{}, 1, 2, 3)
			defer c.Close()
			began := time.Now()
			for range 300 {
				writeAt(t, c)
			}
			if d := time.Since(began); d > 0 {
				t.Errorf("%s: 300 writes took %v", what, d)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			sent, looks := 0, 0
			for _, s := range w.asked {
				if strings.HasPrefix(s, "write") {
					sent++
				} else {
					looks++
				}
			}
			if sent != 300 || looks > 4 {
				t.Errorf("%s: 300 writes took %d requests and %d questions", what, sent, looks)
			}
		})
	}
}

// What a node of another cluster says of its master, or one of which nobody knows the cluster, means nothing.
func TestOnlyTheOwnClusterNamesTheMaster(t *testing.T) {
	inNearWorld(t, func(t *testing.T, w *nearWorld) {
		w.SetMaster(3)
		c := w.dial(t, client.Config{}, 1, 2)
		defer c.Close()
		readAt(t, c, client.Default) // names no cluster: none is known
		writeAt(t, c)
		w.mu.Lock()
		if slices.Contains(w.asked, "look 3") {
			t.Errorf("asked %q: the master in an answer of a cluster unknown is believed", w.asked)
		}
		w.mu.Unlock()
		w.settle(t, c)
		w.kill(1)
		l := newMemListener(w.names[0])
		w.net.mu.Lock()
		w.net.nodes[w.names[0]] = l
		w.net.mu.Unlock()
		other := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			h := rw.Header()
			h.Set(api.HeaderMaster, "2")
			h.Set(api.HeaderNode, "1")
			h.Set(api.HeaderError, string(api.CodeOtherCluster))
			rw.WriteHeader(http.StatusMisdirectedRequest)
		})}
		go func() { _ = other.Serve(l) }()
		defer func() { _ = other.Close() }()
		w.mu.Lock()
		w.fault = func(clienttest.Request) clienttest.Fault { return clienttest.Hang }
		w.mu.Unlock()
		ctx, cancel := within(100 * time.Millisecond)
		defer cancel()
		_, _, _ = c.Get(ctx, "k", client.ReadOptions{}) // at node 1, and then at nodes that do not answer
		w.mu.Lock()
		w.fault, w.asked = nil, nil
		w.mu.Unlock()
		if e := client.MasterEndpoint(c); e != "http://n3:1" {
			t.Errorf("after an answer of another cluster the master is at %q", e)
		}
	})
}

// With NoLearning everything stays with the endpoints that were given, in their order.
func TestNoLearningKnowsNoMaster(t *testing.T) {
	inNearWorld(t, func(t *testing.T, w *nearWorld) {
		w.SetMaster(2)
		c := w.dial(t, client.Config{NoLearning: true, ReadsAtMaster: true}, 1, 2, 3)
		defer c.Close()
		for range 3 {
			writeAt(t, c)
			readAt(t, c, client.Default)
		}
		w.expect(t, "all", "write 1", "read 1", "write 1", "read 1", "write 1", "read 1")
	})
}

// A token that may not list the members is enough: which of them are at the endpoints is told to everybody.
func TestTheMasterIsFoundWithAnyToken(t *testing.T) {
	w := clienttest.Start(3)
	defer w.Close()
	w.SetMaster(2)
	w.RequireTokens(api.Policy{Name: "keys", Rules: `key_prefix "" { policy = "write" }`})
	w.AddToken(api.Token{SecretID: "keys", Policies: []api.ACLLink{{Name: "keys"}}})
	var at atomic.Uint64
	w.Inject(func(r clienttest.Request) clienttest.Fault {
		if r.IsWrite() {
			at.Store(r.Node)
		}
		return clienttest.None
	})
	c, err := client.New(client.Config{Endpoints: w.Endpoints(), Token: "keys"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for end := time.Now().Add(30 * time.Second); at.Load() != 2; time.Sleep(5 * time.Millisecond) {
		if _, err := c.Set(t.Context(), "k", nil, client.WriteOptions{}); err != nil || time.Now().After(end) {
			t.Fatalf("writes go to node %d: %v", at.Load(), err)
		}
	}
}
