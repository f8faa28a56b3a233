package client_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/client/clienttest"
)

// A node that has founded another cluster at a member's address is not used as long as the cluster is there. When the
// nodes at all addresses are of another one, that is.
func TestAnotherClusterAtAMembersAddress(t *testing.T) {
	inWorld(t, 2, client.Config{Timeout: 2 * time.Second}, func(t *testing.T, w *world) {
		other := clienttest.New(1)
		other.SetID("another")
		ctx := t.Context()
		set := func(value string) error {
			_, err := w.client.Set(ctx, "k", []byte(value), client.WriteOptions{})
			return err
		}
		if err := set("1"); err != nil {
			t.Fatal(err)
		}
		serveOne(t, w, other.Node(1).Handler().ServeHTTP)
		for range 3 {
			if err := set("2"); err != nil {
				t.Fatal(err)
			}
			if e, _, err := w.client.Get(ctx, "k", client.ReadOptions{}); err != nil || string(e.Value) != "2" {
				t.Fatalf("%q, %v", e.Value, err)
			}
			if _, err := w.client.Nodes().Status(ctx); err != nil {
				t.Fatal(err)
			}
			if l, err := w.client.Members().List(ctx); err != nil || l.Cluster != "pretended" {
				t.Fatalf("the list of %q, %v", l.Cluster, err)
			}
		}
		w.kill(2)
		if err := set("3"); kindOf(t, err) != client.ErrNotApplied {
			t.Errorf("with nothing but another cluster: %v", err)
		}
		if n := other.Applied(); n != 0 {
			t.Errorf("the other cluster has applied %d writes", n)
		}
		if s, err := w.client.Nodes().StatusOf(ctx, "n1:1"); err != nil || s.Cluster != "another" {
			t.Errorf("the status of the node there is of %q, %v", s.Cluster, err)
		}
	})
	inWorld(t, 1, client.Config{Timeout: 2 * time.Second}, func(t *testing.T, w *world) {
		other := clienttest.New(1)
		other.SetID("another")
		ctx := t.Context()
		for range 100 { // a revision that the other one has not reached
			if _, err := w.client.Set(ctx, "k", nil, client.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		serveOne(t, w, other.Node(1).Handler().ServeHTTP)
		if _, err := w.client.Set(ctx, "k", []byte("1"), client.WriteOptions{}); err != nil {
			t.Error(err)
		}
		if v, _ := other.Value("k"); v != "1" {
			t.Errorf("the cluster that is there now has %q", v)
		}
	})
}

// A learned address is used only if its node is of the client's cluster.
func TestALearnedAddressOfAnotherCluster(t *testing.T) {
	old, other := clienttest.Start(2), clienttest.Start(1)
	defer old.Close()
	defer other.Close()
	other.SetID("another")
	addresses := old.Endpoints()
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if "http://"+address == addresses[0] { // where the other one is now
			address = strings.TrimPrefix(other.Endpoints()[0], "http://")
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	c, err := client.New(client.Config{Endpoints: addresses[1:], Timeout: 2 * time.Second, DialContext: dial})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Set(t.Context(), "k", []byte("1"), client.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Second); !slices.Contains(c.Endpoints(), addresses[0]); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("only %q is known", c.Endpoints())
		}
	}
	old.Inject(func(r clienttest.Request) clienttest.Fault { return clienttest.Busy })
	if _, err := c.Set(t.Context(), "k", []byte("2"), client.WriteOptions{}); kindOf(t, err) != client.ErrNotApplied {
		t.Errorf("with nothing but another cluster: %v", err)
	}
	if _, _, err := c.Get(t.Context(), "k", client.ReadOptions{}); kindOf(t, err) != client.ErrUnavailable {
		t.Errorf("a read with nothing but another cluster: %v", err)
	}
	if n := other.Applied(); n != 0 {
		t.Errorf("the other cluster has applied %d writes", n)
	}
}

// With GiveUpRefused, calls end if the only node serves nobody because its cluster was founded beside another one. It
// is no reason to give up while another node may answer.
func TestNobodyIsServedBesideAnotherCluster(t *testing.T) {
	beside := func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set(api.HeaderNode, "1")
		rw.Header().Set(api.HeaderError, string(api.CodeOtherCluster))
		rw.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(rw, "not applied: it has founded a cluster of its own")
	}
	const limit = 8 * time.Second
	for _, met := range []bool{false, true} {
		inWorld(t, 1, client.Config{Timeout: limit, GiveUpRefused: time.Second}, func(t *testing.T, w *world) {
			ctx := t.Context()
			if met {
				if _, err := w.client.Set(ctx, "k", []byte("v"), client.WriteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			serveOne(t, w, beside)
			for _, mode := range []client.Mode{client.Stale, client.Default, client.Consistent} {
				began := time.Now()
				_, _, err := w.client.Get(ctx, "k", client.ReadOptions{Mode: mode})
				if took := time.Since(began); kindOf(t, err) != client.ErrUnavailable || took > time.Second ||
					!strings.Contains(err.Error(), "founded a cluster of its own") {
					t.Errorf("met %v, mode %d: %v after %v", met, mode, err, took)
				}
			}
			began := time.Now()
			_, err := w.client.Set(ctx, "k", []byte("v"), client.WriteOptions{})
			if took := time.Since(began); kindOf(t, err) != client.ErrNotApplied || took > time.Second {
				t.Errorf("met %v, a write: %v after %v", met, err, took)
			}
		})
	}
	inWorld(t, 2, client.Config{Timeout: limit, GiveUpRefused: time.Second}, func(t *testing.T, w *world) {
		serveOne(t, w, beside)
		for range 3 {
			if _, err := w.client.Set(t.Context(), "k", []byte("v"), client.WriteOptions{}); err != nil {
				t.Error(err)
			}
		}
	})
}
