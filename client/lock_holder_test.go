package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tenure/client"
	"tenure/client/clienttest"
)

// TestHolderError names the holder as well as it is known.
func TestHolderError(t *testing.T) {
	for _, x := range []struct {
		e    client.HolderError
		want string
	}{
		{client.HolderError{Session: "s-1"}, "it is held by session s-1"},
		{client.HolderError{Session: "s-1", Name: "job"}, "it is held by session s-1"},
		{client.HolderError{Session: "s-1", Node: "rack 7"}, "it is held by session s-1 of rack 7"},
		{client.HolderError{Session: "s-1", Name: "job", Node: "rack 7"}, `it is held by session s-1 ("job" of rack 7)`},
	} {
		if got := x.e.Error(); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}

// TestWhoHoldsALock is asked of any node, for a moment: with no master, or a slow node, the answer counts all the same,
// and without an answer the session's ID is told.
func TestWhoHoldsALock(t *testing.T) {
	for name, x := range map[string]struct {
		asked func(clienttest.Request) clienttest.Fault // who it is
		known bool
	}{
		"at once": {noFaults, true},
		"no master": {func(r clienttest.Request) clienttest.Fault {
			if !r.Stale {
				return clienttest.Busy
			}
			return clienttest.None
		}, true},
		"after 200 ms": {func(clienttest.Request) clienttest.Fault {
			time.Sleep(200 * time.Millisecond)
			return clienttest.None
		}, true},
		"never": {func(clienttest.Request) clienttest.Fault { return clienttest.Hang }, false},
	} {
		inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
			ctx := context.Background()
			l := lock(t, w, "job", client.LockOptions{Session: client.SessionOptions{Name: "me", Node: "rack 7", TTL: time.Hour}})
			s := startSession(t, w, time.Hour)
			w.Inject(func(r clienttest.Request) clienttest.Fault {
				if strings.HasPrefix(r.Path, "/v1/session/info/") {
					return x.asked(r)
				}
				return clienttest.None
			})
			began := time.Now()
			_, err := s.Lock(ctx, "job", client.LockOptions{Try: true})
			var h *client.HolderError
			if !errors.As(err, &h) || h.Session != l.Session().ID() || (h.Name == "me") != x.known || (h.Node == "rack 7") != x.known {
				t.Errorf("%s: %v", name, err)
			}
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("%s: it took %v", name, took)
			}
			w.inject(noFaults)
			_, _ = s.Close(ctx), l.Unlock(ctx)
		})
	}
}

// TestLockInLockDelay is held by nobody, and the error says so.
func TestLockInLockDelay(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		ctx := context.Background()
		l := lock(t, w, "job", client.LockOptions{Session: client.SessionOptions{LockDelay: 20 * time.Second}})
		s := startSession(t, w, time.Hour)
		w.EndSession(l.Session().ID())
		_, err := s.Lock(ctx, "job", client.LockOptions{Try: true})
		var h *client.HolderError
		if want := `lock "job": condition failed: it is in lock-delay, or was held until just now`; err == nil || err.Error() != want || errors.As(err, &h) {
			t.Errorf("%v, want %s", err, want)
		}
		_, _ = s.Close(ctx), l.Unlock(ctx)
	})
}
