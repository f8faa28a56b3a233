package transport

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"tenure/internal/ident"
	"tenure/server/wire"
)

// A stranger claims to be the founder, with memberships that may be taken and others that must not.
func TestBootstrapThatMustNotBeTaken(t *testing.T) {
	pair := func(one, two byte) ident.Membership {
		return ident.Membership{Number: 1, Members: []ident.Member{
			{Node: 1, Store: ident.StoreID{0xaa, one}}, {Node: 2, Store: ident.StoreID{0xaa, two}},
		}}
	}
	sound := pair(1, 2)
	for name, c := range map[string]struct {
		bring ident.Membership
		word  string
	}{
		"another store for me": {pair(1, 7), "was started with the list"},
		"without me":           {members(1), "was started with the list"},
		"more nodes":           {members(1, 2, 3), "was started with the list"},
		"number 2":             {ident.Membership{Number: 2, Members: sound.Members}, "was started with the list"},
		"without itself":       {pair(8, 2), "in which it is not itself"},
		"sound":                {sound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := listen(t, 2, "", nil)
			list := []wire.Address{{Node: 1, Addr: "127.0.0.1:1"}, {Node: 2, Addr: n.Addr().String()}}
			d := &disk{store: store(2)}
			ctx, cancel := context.WithCancel(within(t))
			out := n.begin(ctx, d, list)
			w := claimed(t, n, store(1), list)
			if err := w.send(&wire.FoundMsg{Cluster: ident.ClusterID{5}, Membership: c.bring}); err != nil {
				t.Fatal(err)
			}
			reply, err := w.receive()
			if c.word == "" {
				if _, ok := reply.(*wire.FormedMsg); !ok || err != nil {
					t.Fatalf("%T %v", reply, err)
				}
				if o := ended(t, out); o.err != nil || !o.fresh || d.cluster != (ident.ClusterID{5}) {
					t.Fatalf("%+v", o)
				}
				adoptsOnce(t, n, d, sound)
				cancel()
				return
			}
			var r *Refusal
			if !errors.As(err, &r) || r.Reason != wire.ReasonBootstrap || !strings.Contains(r.Text, c.word) ||
				d.founds > 0 {
				t.Fatalf("%v", err)
			}
			cancel()
			if o := ended(t, out); !errors.Is(o.err, context.Canceled) {
				t.Fatalf("%+v", o)
			}
			if err := n.Transport.bootstrap.Load().adopt(ident.ClusterID{5}, sound); err == nil || d.founds > 0 {
				t.Fatal("took a bootstrap after it had stopped waiting")
			}
		})
	}
}

// adoptsOnce makes sure that n, which has adopted m, takes the same again and nothing else.
func adoptsOnce(t *testing.T, n *node, d *disk, m ident.Membership) {
	t.Helper()
	b := n.Transport.bootstrap.Load()
	if err := b.adopt(ident.ClusterID{5}, m); err != nil {
		t.Fatalf("the same again: %v", err)
	}
	var r *Refusal
	if err := b.adopt(ident.ClusterID{6}, m); !errors.As(err, &r) || r.Reason != wire.ReasonBootstrap || d.founds != 1 {
		t.Fatalf("a second bootstrap: %v", err)
	}
}

// claimed is a founder's connection to n, made by hand, after n has answered.
func claimed(t *testing.T, n *node, founder ident.StoreID, list []wire.Address) *conn {
	t.Helper()
	late := time.Now().Add(testTimeout)
	for {
		nc, err := net.Dial("tcp", n.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		w := newConn(nc, 0, late)
		_, err = exchange(w, &wire.AskMsg{From: 1, To: n.cfg.Self, Store: founder, List: list})
		var r *Refusal
		if errors.As(err, &r) && r.Reason == wire.ReasonNotReady { // its Bootstrap has not begun
			nc.Close()
			continue
		}
		t.Cleanup(func() { nc.Close() })
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
}

func TestTwoFoundersCannotBothCountOnANode(t *testing.T) {
	n := listen(t, 2, "", nil)
	list := []wire.Address{{Node: 1, Addr: "127.0.0.1:1"}, {Node: 2, Addr: n.Addr().String()}}
	ctx, cancel := context.WithCancel(within(t))
	out := n.begin(ctx, &disk{store: store(2)}, list)
	claimed(t, n, store(1), list)
	nc, err := net.Dial("tcp", n.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_, err = exchange(newConn(nc, 0, time.Now().Add(testTimeout)),
		&wire.AskMsg{From: 1, To: 2, Store: store(8), List: list})
	var r *Refusal
	if !errors.As(err, &r) || r.Reason != wire.ReasonNode || !strings.Contains(r.Text, "two processes") {
		t.Fatalf("%v", err)
	}
	cancel()
	ended(t, out)
}

func TestAsksThatAreRefused(t *testing.T) {
	nodes, disks, list := town(t, 2)
	formAll(t, nodes, disks, list)
	for name, c := range map[string]struct {
		ask    wire.AskMsg
		reason wire.Reason
	}{
		"wrong node": {wire.AskMsg{From: 2, To: 3, Store: store(2), List: list}, wire.ReasonNode},
		"itself":     {wire.AskMsg{From: 1, To: 2, Store: store(1), List: list}, wire.ReasonSelf},
		"same id":    {wire.AskMsg{From: 1, To: 1, Store: store(5), List: list}, wire.ReasonNode},
	} {
		nc, err := net.Dial("tcp", list[0].Addr)
		if err != nil {
			t.Fatal(err)
		}
		_, err = exchange(newConn(nc, 0, time.Now().Add(testTimeout)), &c.ask)
		nc.Close()
		var r *Refusal
		if !errors.As(err, &r) || r.Reason != c.reason {
			t.Errorf("%s: %v", name, err)
		}
	}
}
