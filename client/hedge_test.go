package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/client/clienttest"
)

// hedgeAfter is how long an endpoint that never answered is waited for before another one is asked.
const hedgeAfter = 150 * time.Millisecond

// hung makes nodes take requests and never answer.
func (w *world) hung(nodes ...uint64) {
	w.Inject(func(r clienttest.Request) clienttest.Fault {
		if slices.Contains(nodes, r.Node) {
			return clienttest.Hang
		}
		return clienttest.None
	})
}

// TestAHungFirstEndpoint costs the first call of a client a moment, whatever the call, and later ones nothing.
func TestAHungFirstEndpoint(t *testing.T) {
	for name, call := range map[string]func(ctx context.Context, c *client.Client) error{
		"get": func(ctx context.Context, c *client.Client) error {
			_, _, err := c.Get(ctx, "k", client.ReadOptions{})
			return err
		},
		"set": func(ctx context.Context, c *client.Client) error {
			_, err := c.Set(ctx, "k", nil, client.WriteOptions{})
			return err
		},
		"set again": func(ctx context.Context, c *client.Client) error {
			_, err := c.Set(ctx, "k", nil, client.WriteOptions{Once: client.Once{Key: "earlier", Base: 1}})
			return err
		},
		"lock": func(ctx context.Context, c *client.Client) error {
			l, err := c.Locks().Acquire(ctx, "job", client.LockOptions{})
			if err != nil {
				return err
			}
			return l.Unlock(ctx)
		},
		"lease": func(ctx context.Context, c *client.Client) error {
			l, err := c.Leases().Acquire(ctx, "job", client.LeaseOptions{})
			if err != nil {
				return err
			}
			return l.Release(ctx)
		},
		"status": func(ctx context.Context, c *client.Client) error { _, err := c.Nodes().Status(ctx); return err },
		"watch": func(ctx context.Context, c *client.Client) error {
			for _, err := range c.Watch(ctx, "k", 1) {
				return err
			}
			return errors.New("the watch ended")
		},
	} {
		inWorld(t, 5, client.Config{}, func(t *testing.T, w *world) {
			w.Set("other", "v")
			w.Set("k", "v")
			w.hung(1, 2)
			for i, limit := range []time.Duration{2 * hedgeAfter, 0} {
				began := time.Now()
				if err := call(t.Context(), w.client); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if d := time.Since(began); d != limit {
					t.Errorf("%s, call %d: took %v, want %v", name, i+1, d, limit)
				}
			}
		})
	}
}

// A write is sent to one node at a time, and applied once, however slow that is.
func TestWritesAreNotHedged(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		var writes []uint64
		w.inject(func(r clienttest.Request) clienttest.Fault {
			if !r.IsWrite() {
				return clienttest.None
			}
			writes = append(writes, r.Node)
			return clienttest.Slow
		})
		if _, err := w.client.Set(t.Context(), "k", nil, client.WriteOptions{}); err != nil || w.Applied() != 1 || len(writes) != 1 {
			t.Fatalf("%v, applied %d, sent to %v", err, w.Applied(), writes)
		}
	})
}

// A node that has answered before is given its time: under load, others would be slow too. So is one that is asked to
// wait.
func TestReadsThatAreNotHedged(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		if _, err := w.client.Set(t.Context(), "k", nil, client.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		var asked []uint64
		w.inject(func(r clienttest.Request) clienttest.Fault {
			asked = append(asked, r.Node)
			return clienttest.Slow
		})
		if _, _, err := w.client.Get(t.Context(), "k", client.ReadOptions{}); err != nil || len(asked) != 1 {
			t.Errorf("%v, asked %v", err, asked)
		}
		fresh := w.dialled(t, client.Config{Endpoints: w.names, DialContext: w.net.dial, NoLearning: true})
		defer fresh.Close()
		asked = nil
		_, _, err := fresh.GetWait(t.Context(), "k", w.Revision(), time.Second, client.ReadOptions{})
		if err != nil || len(slices.Compact(asked)) != 1 {
			t.Errorf("a read that waits: %v, asked %v", err, asked)
		}
	})
}

// An endpoint that has begun a long answer is given its time: another one would send as much again.
func TestALongFirstAnswerIsNotHedged(t *testing.T) {
	var asked atomic.Int32 // other nodes
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(api.HeaderNode, "1")
		_ = http.NewResponseController(w).Flush()
		time.Sleep(3 * hedgeAfter)
		_, _ = io.WriteString(w, "[]")
	}))
	defer slow.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked.Add(1) }))
	defer other.Close()
	c, err := client.New(client.Config{Endpoints: []string{slow.URL, other.URL}, NoLearning: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, _, err := c.List(t.Context(), "", client.ListOptions{}); err != nil || asked.Load() > 0 {
		t.Errorf("%v, another node was asked %d times", err, asked.Load())
	}
}
