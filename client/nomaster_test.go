package client_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/client/clienttest"
)

// TestTheMajorityIsLost: the error says so, whatever the last try has met, and keeps its kind.
func TestTheMajorityIsLost(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		w.kill(1)
		w.kill(2)
		w.Inject(func(r clienttest.Request) clienttest.Fault {
			if r.Timeout == "" { // then the node would be silent for longer than the client waits
				t.Errorf("%s %s: the node is not told how long the client waits", r.Method, r.Path)
			}
			return clienttest.Busy
		})
		ctx := context.Background()
		for name, call := range map[string]struct {
			f    func() error
			kind error
		}{
			"get":   {func() error { _, _, err := w.client.Get(ctx, "k", client.ReadOptions{}); return err }, client.ErrUnavailable},
			"set":   {func() error { _, err := w.client.Set(ctx, "k", nil, client.WriteOptions{}); return err }, client.ErrNotApplied},
			"lock":  {func() error { _, err := w.client.Locks().Acquire(ctx, "k", client.LockOptions{}); return err }, client.ErrNotApplied},
			"lease": {func() error { _, err := w.client.Leases().Acquire(ctx, "k", client.LeaseOptions{}); return err }, client.ErrNotApplied},
		} {
			err := call.f()
			var lost *client.NoMasterError
			if kindOf(t, err) != call.kind || !errors.As(err, &lost) || lost.Answering != 1 || lost.Nodes != 3 ||
				!errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
			if !strings.HasSuffix(err.Error(), call.kind.Error()+": no master: 1 of 3 nodes answers; see kvctl status") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// A write whose first copy may have been applied stays unknown when the majority is lost behind it.
func TestDoubtOutlivesTheMajority(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		if _, err := w.client.Set(context.Background(), "warm", nil, client.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		first := true
		w.inject(func(r clienttest.Request) clienttest.Fault {
			if !first {
				return clienttest.Busy
			}
			first = false
			w.kill(int(r.Node%3 + 1))
			w.kill(int((r.Node+1)%3 + 1))
			return clienttest.HangApplied
		})
		_, err := w.client.Set(context.Background(), "k", nil, client.WriteOptions{})
		if kindOf(t, err) != client.ErrUnknown || !errors.As(err, new(*client.NoMasterError)) || w.Applied() != 2 {
			t.Fatalf("told %v, applied %d", err, w.Applied())
		}
	})
}

// While a majority answers, or none, or not as nodes without a master, the last answer says more.
func TestTheMajorityIsNotLost(t *testing.T) {
	for name, c := range map[string]struct {
		killed []int
		fault  clienttest.Fault
		want   error
	}{
		"two of three answer": {[]int{3}, clienttest.Busy, nil},
		"nobody answers":      {[]int{1, 2, 3}, clienttest.None, syscall.ECONNREFUSED},
		"no space":            {[]int{1, 2}, clienttest.NoSpace, client.ErrNoSpace},
	} {
		inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
			for _, n := range c.killed {
				w.kill(n)
			}
			w.Inject(func(r clienttest.Request) clienttest.Fault {
				if r.IsWrite() {
					return c.fault
				}
				return clienttest.None
			})
			_, err := w.client.Set(context.Background(), "k", nil, client.WriteOptions{})
			var status *client.StatusError
			found := errors.Is(err, c.want) || c.fault == clienttest.Busy && errors.As(err, &status) && status.Code == api.CodeNotApplied
			if err == nil || errors.As(err, new(*client.NoMasterError)) || !found {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// A try that the deadline cuts says nothing about its node.
func TestTheMajorityIsLostAtTheDeadline(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		w.kill(1)
		w.kill(2)
		began := time.Now()
		w.Inject(func(clienttest.Request) clienttest.Fault {
			if time.Since(began) > 500*time.Millisecond {
				return clienttest.Hang
			}
			return clienttest.Busy
		})
		ctx, cancel := within(time.Second)
		defer cancel()
		_, _, err := w.client.Get(ctx, "k", client.ReadOptions{})
		if !errors.As(err, new(*client.NoMasterError)) {
			t.Fatal(err)
		}
	})
}

// A node that waits for a master answers a little after the time that it was given. A write is not in doubt for that,
// and every node is asked, however short the call is.
func TestNodesThatWaitForAMasterLeaveNoDoubt(t *testing.T) {
	for _, timeout := range []time.Duration{200 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second} {
		for range 20 { // the waits between tries are random
			inWorld(t, 3, client.Config{Timeout: timeout}, func(t *testing.T, w *world) {
				asked := map[uint64]bool{}
				w.Inject(func(r clienttest.Request) clienttest.Fault {
					if !r.IsWrite() {
						return clienttest.None
					}
					asked[r.Node] = true
					told, _ := strconv.Atoi(r.Timeout)
					time.Sleep(time.Duration(told)*time.Millisecond + min(12*time.Millisecond, timeout/50))
					return clienttest.Busy
				})
				_, err := w.client.Set(context.Background(), "k", nil, client.WriteOptions{})
				if kindOf(t, err) != client.ErrNotApplied || errors.As(err, new(*client.NoMasterError)) || len(asked) != 3 {
					t.Fatalf("within %v, asked %v: %v", timeout, asked, err)
				}
			})
		}
	}
}

// Nothing is said of nodes that were not asked.
func TestNodesThatWereNotAskedAreNotCounted(t *testing.T) {
	inWorld(t, 3, client.Config{Timeout: time.Second}, func(t *testing.T, w *world) {
		w.Inject(func(r clienttest.Request) clienttest.Fault {
			if !r.IsWrite() {
				return clienttest.None
			}
			time.Sleep(960 * time.Millisecond)
			return clienttest.Busy
		})
		_, err := w.client.Set(context.Background(), "k", nil, client.WriteOptions{})
		if kindOf(t, err) != client.ErrNotApplied || errors.As(err, new(*client.NoMasterError)) {
			t.Error(err)
		}
	})
}
