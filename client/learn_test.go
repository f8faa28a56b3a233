package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/client/clienttest"
)

// inLearningWorld runs f in a bubble with a client that was given only the first node. The members advertise n1:1, n2:1
// and so on.
func inLearningWorld(t *testing.T, nodes int, f func(t *testing.T, w *world, c *client.Client)) {
	t.Helper()
	inWorld(t, nodes, client.Config{}, func(t *testing.T, w *world) {
		w.EditMembers(func(l []api.Member) []api.Member {
			for i := range l {
				l[i].ClientAddress = w.names[i]
			}
			return l
		})
		c := w.dialled(t, client.Config{Endpoints: w.names[:1], DialContext: w.net.dial})
		defer c.Close()
		f(t, w, c)
	})
}

func read(t *testing.T, c *client.Client) {
	t.Helper()
	ctx, cancel := within(5 * time.Second)
	defer cancel()
	if _, _, err := c.Get(ctx, "none", client.ReadOptions{}); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	synctest.Wait() // for a question about the members
}

// One address is enough: once a node has answered, every kind of call goes on when the node that was given is gone.
func TestOneAddressIsEnough(t *testing.T) {
	inLearningWorld(t, 3, func(t *testing.T, w *world, c *client.Client) {
		ctx, cancel := within(time.Minute)
		defer cancel()
		read(t, c)
		events := make(chan client.Event)
		go func() {
			defer close(events)
			for e, err := range c.Watch(ctx, "k", 0) {
				if err != nil {
					return
				}
				events <- e
			}
		}()
		lease, err := c.Leases().Acquire(ctx, "l", client.LeaseOptions{TTL: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		w.SetMaster(2)
		w.kill(1)
		read(t, c)
		if _, err := c.Set(ctx, "k", nil, client.WriteOptions{}); err != nil {
			t.Error(err)
		}
		if e := <-events; e.Key != "k" {
			t.Errorf("%+v", e)
		}
		time.Sleep(10 * time.Second)
		select {
		case <-lease.Lost():
			t.Error("the lease was lost")
		default:
		}
		if err := lease.Release(ctx); err != nil {
			t.Error(err)
		}
		if p, err := c.Leases().List(ctx, client.LeaseListOptions{}); err != nil || !slices.Equal(p.Unasked, []string{"http://n1:1"}) {
			t.Errorf("%+v, %v", p, err)
		}
		cancel()
		for range events { // until it ends
		}
	})
}

// Members that join are learned, and those that leave are forgotten, also while nobody fails.
func TestMembersComeAndGo(t *testing.T) {
	inLearningWorld(t, 4, func(t *testing.T, w *world, c *client.Client) {
		know := func(what string, want ...string) {
			t.Helper()
			read(t, c)
			if got := c.Endpoints(); strings.Join(got, " ") != "http://n1:1"+strings.Join(append([]string{""}, want...), " http://") {
				t.Errorf("%s: %q", what, got)
			}
		}
		var left api.Member
		w.EditMembers(func(l []api.Member) []api.Member { left = l[3]; return l[:3] })
		know("at first", "n2:1", "n3:1")
		w.EditMembers(func(l []api.Member) []api.Member { return append(l[:1], l[2], left) })
		know("soon after", "n2:1", "n3:1")
		time.Sleep(31 * time.Second)
		know("2 has left, 4 is new", "n3:1", "n4:1")
		w.EditMembers(func(l []api.Member) []api.Member { return l[1:] })
		time.Sleep(31 * time.Second)
		know("1, which was given, has left", "n3:1", "n4:1")
		w.kill(1)
		read(t, c)
		w.EditMembers(func(l []api.Member) []api.Member { return l[1:] })
		w.kill(3)
		know("the one in use is gone", "n3:1", "n4:1")
		time.Sleep(2 * time.Second) // nobody waits for half a minute then
		know("a moment later", "n4:1")
	})
}

// Whatever goes on, a node is asked for the members twice a minute, and once a second at most when endpoints fail.
func TestMembersAreAskedForSeldom(t *testing.T) {
	inLearningWorld(t, 2, func(t *testing.T, w *world, c *client.Client) {
		var asked atomic.Int32
		w.inject(func(r clienttest.Request) clienttest.Fault {
			if r.Path == api.PathMembers {
				asked.Add(1)
			}
			return clienttest.None
		})
		calls := func(n int) {
			for range n {
				read(t, c)
				time.Sleep(100 * time.Millisecond)
			}
		}
		calls(600)
		if n := asked.Load(); n != 2 {
			t.Errorf("asked %d times in a minute", n)
		}
		asked.Store(0)
		tries := 0
		w.inject(func(r clienttest.Request) clienttest.Fault {
			if r.Path == api.PathMembers {
				asked.Add(1)
			} else if tries++; tries%2 == 0 {
				return clienttest.Busy
			}
			return clienttest.None
		})
		calls(600)
		if n := asked.Load(); n < 30 || n > 60 {
			t.Errorf("asked %d times in a minute in which every other try failed", n)
		}
	})
}

// A node of an older version does not know the list of members.
func TestANodeThatKnowsNoMembers(t *testing.T) {
	inLearningWorld(t, 2, func(t *testing.T, w *world, c *client.Client) {
		asked := 0
		w.inject(func(r clienttest.Request) clienttest.Fault {
			if r.Path == api.PathMembers {
				asked++
				return clienttest.Garbage
			}
			return clienttest.None
		})
		for range 10 {
			read(t, c)
		}
		if got := c.Endpoints(); len(got) != 1 || asked != 1 {
			t.Errorf("%q, asked %d times", got, asked)
		}
	})
}

// A question that hangs delays no call and not Close.
func TestCloseEndsAQuestion(t *testing.T) {
	inLearningWorld(t, 2, func(t *testing.T, w *world, c *client.Client) {
		w.inject(func(r clienttest.Request) clienttest.Fault {
			if r.Path == api.PathMembers {
				return clienttest.Hang
			}
			return clienttest.None
		})
		began := time.Now()
		read(t, c)
		read(t, c)
		c.Close()
		if d := time.Since(began); d > 0 {
			t.Errorf("took %v", d)
		}
		read(t, c) // calls in flight go on after Close, and ask nothing
	})
}

func TestNoLearning(t *testing.T) {
	inLearningWorld(t, 2, func(t *testing.T, w *world, _ *client.Client) {
		w.inject(func(r clienttest.Request) clienttest.Fault {
			if r.Path == api.PathMembers {
				t.Error("a node was asked for the members")
			}
			return clienttest.None
		})
		c := w.dialled(t, client.Config{Endpoints: w.names[:1], DialContext: w.net.dial, NoLearning: true})
		defer c.Close()
		read(t, c)
		w.Inject(func(clienttest.Request) clienttest.Fault { return clienttest.None })
		if l, err := c.Members().List(context.Background()); err != nil || len(l.Members) != 2 || len(c.Endpoints()) != 1 {
			t.Errorf("%+v, %v, %q", l, err, c.Endpoints())
		}
	})
}

func memberAt(address string) client.Member {
	return client.Member{ClientAddress: address, Connected: true}
}

// Which of the addresses that nodes tell a client uses.
func TestWhichAddressesAreLearned(t *testing.T) {
	many := client.MemberList{Cluster: "c"}
	for i := range 100 {
		many.Members = append(many.Members, memberAt(fmt.Sprintf("m%d:1", i)))
	}
	list := func(change uint64, addresses ...string) client.MemberList {
		l := client.MemberList{Cluster: "c", Change: change}
		for _, a := range addresses {
			l.Members = append(l.Members, memberAt(a))
		}
		return l
	}
	lagging, receiving, silent, draining := memberAt("lag:1"), memberAt("copy:1"), memberAt("silent:1"), memberAt("drain:1")
	lagging.Lag, receiving.Snapshot, silent.Connected, draining.Draining = 10_001, &client.SnapshotStatus{}, false, true
	other := list(0, "x:1")
	other.Cluster = "another"
	for _, x := range []struct {
		what, given, want string
		from              string
		lists             []client.MemberList
	}{
		{"names and addresses", "h", "a:1 10.0.0.1:2 [2001:db8::1]:3", "", []client.MemberList{list(0, "a:1", "10.0.0.1:2", "[2001:db8::1]:3")}},
		{"nonsense", "h", "", "", []client.MemberList{list(0, "", "a", "a:", ":1", "a:x", "a:0", "a:1/v1", "u@a:1", "0.0.0.0:1", "[::]:1", strings.Repeat("a", 300)+":1")}},
		{"one that was given", "h:1", "a:1", "", []client.MemberList{list(0, "h:1", "a:1", "a:1")}},
		{"loopback of another machine", "h", "a:1", "", []client.MemberList{list(0, "127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1", "LocalHost:1", "localhost.:1", "a.localhost:1",
			"[::1%lo]:1", "[::ffff:127.0.0.1]:1", "a:1")}},
		{"a host that is none", "h", "a:1", "", []client.MemberList{list(0, "$(id):1", "a b:1", "\x1b:1", "[::1%$(id)]:1", "a:1")}},
		{"loopback of this machine", "127.0.0.1:8500", "127.0.0.1:1 [::1]:1 localhost:1 a:1", "", []client.MemberList{list(0, "127.0.0.1:1", "[::1]:1", "localhost:1", "a:1")}},
		{"the same by its name", "localhost", "127.0.0.1:1", "", []client.MemberList{list(0, "127.0.0.1:1")}},
		{"a newer list", "h", "b:1", "", []client.MemberList{list(3, "a:1"), list(4, "b:1")}},
		{"an older list", "h", "a:1", "", []client.MemberList{list(3, "a:1"), list(2, "b:1")}},
		{"a list that is empty", "h", "", "", []client.MemberList{list(3, "a:1"), list(4)}},
		{"another cluster", "h", "a:1", "http://h:8500", []client.MemberList{list(3, "a:1"), other}},
		{"the best first", "h", "a:1 b:1 lag:1 copy:1 silent:1 drain:1", "", []client.MemberList{
			{Cluster: "c", Members: []client.Member{lagging, receiving, memberAt("a:1"), silent, draining, memberAt("b:1")}}}},
	} {
		c, err := client.New(client.Config{Endpoints: []string{x.given}})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range x.lists {
			c.Learn(x.from, l)
		}
		want := append([]string{c.Endpoints()[0]}, strings.Fields(x.want)...)
		for i := range want[1:] {
			want[i+1] = "http://" + want[i+1]
		}
		if got := c.Endpoints(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", x.what, got, want)
		}
		c.Close()
	}
	c, err := client.New(client.Config{Endpoints: []string{"h"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Learn("", many); len(c.Endpoints()) != 65 {
		t.Errorf("%d endpoints", len(c.Endpoints()))
	}
}
