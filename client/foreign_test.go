package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tenure/client"
	"tenure/client/clienttest"
)

// pretend is a web server that is no node: it answers everything with status and body.
func pretend(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// A proxy that has passed a write on and then answers by itself tells nothing about it, whatever it answers.
func TestProxyThatRefusesAfterTheWriteIsUnknown(t *testing.T) {
	ctx := context.Background()
	for _, status := range []int{200, 400, 403, 404, 409, 413, 429, 503, 507} {
		inWorld(t, 1, client.Config{Timeout: 2 * time.Second}, func(t *testing.T, w *world) {
			node := w.Node(1).Handler()
			var forwarded int
			serveOne(t, w, func(rw http.ResponseWriter, r *http.Request) {
				if (clienttest.Request{Method: r.Method, Path: r.URL.Path}).IsWrite() {
					node.ServeHTTP(httptest.NewRecorder(), r)
					forwarded++
					pretend(status, "false")(rw, r)
					return
				}
				node.ServeHTTP(rw, r)
			})
			calls := map[string]func() error{
				"put":     func() error { _, err := w.client.Set(ctx, "k", []byte("v"), client.WriteOptions{}); return err },
				"delete":  func() error { _, err := w.client.Delete(ctx, "k", client.WriteOptions{}); return err },
				"add":     func() error { _, _, err := w.client.Add(ctx, "k", 1, client.WriteOptions{}); return err },
				"session": func() error { _, err := w.client.Sessions().Create(ctx, client.SessionOptions{}); return err },
				"lease":   func() error { _, err := w.client.Leases().Grant(ctx, "l", client.LeaseOptions{}); return err },
				"txn": func() error {
					_, err := w.client.Txn(ctx, []client.TxnOp{{Verb: client.TxnSet, Key: "k"}}, client.WriteOptions{})
					return err
				},
			}
			for name, call := range calls {
				forwarded = 0
				err := call()
				if forwarded == 0 || kindOf(t, err) != client.ErrUnknown {
					t.Errorf("%s, answered %d by a proxy after %d were applied: %v, want outcome unknown", name, status, forwarded, err)
				}
			}
		})
	}
}

// A transfer is sent once, so whatever a stranger answers leaves it unknown.
func TestTransferAnsweredByAStrangerIsUnknown(t *testing.T) {
	for _, status := range []int{200, 204, 302, 400, 404, 503} {
		inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
			serveOne(t, w, pretend(status, ""))
			if err := w.client.Nodes().Transfer(t.Context(), 0); kindOf(t, err) != client.ErrUnknown {
				t.Errorf("a transfer answered %d by a stranger: %v", status, err)
			}
		})
	}
}

// reads are all that a stranger might seem to answer.
func reads(ctx context.Context, c *client.Client) map[string]func() error {
	var o client.ReadOptions
	return map[string]func() error{
		"get":      func() error { _, _, err := c.Get(ctx, "k", o); return err },
		"list":     func() error { _, _, err := c.List(ctx, "", client.ListOptions{}); return err },
		"keys":     func() error { _, _, err := c.Keys(ctx, "", client.ListOptions{}); return err },
		"count":    func() error { _, _, err := c.Count(ctx, "", o); return err },
		"lease":    func() error { _, err := c.Leases().Info(ctx, "l"); return err },
		"leases":   func() error { _, err := c.Leases().List(ctx, client.LeaseListOptions{}); return err },
		"sessions": func() error { _, _, err := c.Sessions().List(ctx, o); return err },
		"fence":    func() error { _, _, err := c.Fences().Token(ctx, "kv/k", o); return err },
		"status":   func() error { _, err := c.Nodes().Status(ctx); return err },
		"history":  func() error { _, err := c.Nodes().History(ctx); return err },
		"reports":  func() error { _, err := c.Nodes().Reports(ctx); return err },
	}
}

// No web server that is not a node answers a read.
func TestReadsDoNotBelieveStrangers(t *testing.T) {
	for _, x := range []struct {
		status int
		body   string
	}{{404, "not found"}, {200, "[]"}, {200, "{}"}, {200, "0"}, {400, "no"}, {403, "<html>no"}, {503, "<html>"}} {
		inWorld(t, 1, client.Config{Timeout: 200 * time.Millisecond}, func(t *testing.T, w *world) {
			serveOne(t, w, pretend(x.status, x.body))
			for name, call := range reads(t.Context(), w.client) {
				err := call()
				if kindOf(t, err) != client.ErrUnavailable || !strings.Contains(err.Error(), "is this a Tenure node?") {
					t.Errorf("%s of a stranger that answers %d %q: %v", name, x.status, x.body, err)
				}
			}
		})
	}
}

// A wrong endpoint among good ones is passed over, by reads, writes and streams.
func TestStrangerAmongNodes(t *testing.T) {
	for _, status := range []int{404, 400, 200} {
		inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
			ctx := t.Context()
			if _, err := w.client.Set(ctx, "k", []byte("v"), client.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
			serveOne(t, w, pretend(status, "[]"))
			for name := range reads(ctx, w.client) {
				c := w.dialled(t, client.Config{Endpoints: w.names, DialContext: w.net.dial}) // it begins with the stranger
				if err := reads(ctx, c)[name](); err != nil && !(name == "lease" && errors.Is(err, client.ErrNotFound)) {
					t.Errorf("%s with a stranger among the nodes: %v", name, err)
				}
				c.Close()
			}
			c := w.dialled(t, client.Config{Endpoints: w.names, DialContext: w.net.dial})
			defer c.Close()
			if _, err := c.Set(ctx, "k", []byte("w"), client.WriteOptions{}); err != nil {
				t.Errorf("put with a stranger among the nodes: %v", err)
			}
		})
	}
}
