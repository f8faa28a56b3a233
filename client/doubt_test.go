package client_test

import (
	"context"
	"testing"
	"time"

	"tenure/client"
	"tenure/client/clienttest"
)

// TestDoubtIsSettledWhenSpaceComes: a write that may have been applied, and whose next copy found no space, is tried
// again until its own verdict is known. What no later try can settle is told at once.
func TestDoubtIsSettledWhenSpaceComes(t *testing.T) {
	for then, want := range map[clienttest.Fault]error{clienttest.NoSpace: nil, clienttest.TooLarge: client.ErrUnknown} {
		for _, first := range []clienttest.Fault{clienttest.Unknown, clienttest.UnknownApplied} {
			inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
				faults := []clienttest.Fault{first, then}
				w.inject(func(r clienttest.Request) clienttest.Fault {
					if !r.IsWrite() || len(faults) == 0 {
						return clienttest.None
					}
					f := faults[0]
					faults = faults[1:]
					return f
				})
				began := time.Now()
				_, err := w.client.Set(context.Background(), "k", []byte("v"), client.WriteOptions{})
				if want == nil && err != nil || want != nil && kindOf(t, err) != want || time.Since(began) > 5*time.Second {
					t.Errorf("fault %d, then %d: %v after %v", first, then, err, time.Since(began))
				}
			})
		}
	}
}
