package client_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"tenure/api"
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

// TestARefusalAfterALostAnswerIsUnknown: the refusal of a later copy of a write, whatever its code, tells nothing of an
// earlier copy whose answer was lost.
func TestARefusalAfterALostAnswerIsUnknown(t *testing.T) {
	for code, status := range map[api.Code]int{
		api.CodeInvalid: 400, api.CodeForbidden: 403, api.CodeDenied: 403, api.CodeUnknownToken: 403,
		api.CodeKeyReused: 409, api.CodeFeatureLevel: 409, api.CodeTooLarge: 413, api.CodeNotApplied: 503,
		api.CodeOverloaded: 503, api.CodeNotReady: 503, api.CodeUnknown: 504, api.CodeKeyTooOld: 504, api.CodeNoSpace: 507,
	} {
		for _, lost := range []bool{true, false} {
			inWorld(t, 1, client.Config{Timeout: 2 * time.Second}, func(t *testing.T, w *world) {
				node, asked := w.Node(1).Handler(), 0
				serveOne(t, w, func(rw http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodPut {
						node.ServeHTTP(rw, r)
						return
					}
					if asked++; asked == 1 && lost {
						panic(http.ErrAbortHandler)
					}
					rw.Header().Set(api.HeaderNode, "1")
					rw.Header().Set(api.HeaderError, string(code))
					pretend(status, "no")(rw, r)
				})
				_, err := w.client.Set(context.Background(), "k", []byte("v"), client.WriteOptions{})
				doubt := lost || code == api.CodeUnknown || code == api.CodeKeyTooOld
				if unknown := kindOf(t, err) == client.ErrUnknown; unknown != doubt {
					t.Errorf("%s, after a lost answer %v: %v", code, lost, err)
				}
			})
		}
	}
}

// TestTheValueThatIsNotRemembered: a test-and-set whose answer was lost may be told only that it found another value.
// The value is nil then, and not taken for an empty one.
func TestTheValueThatIsNotRemembered(t *testing.T) {
	for _, dropped := range []bool{true, false} {
		inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
			node := w.Node(1).Handler()
			serveOne(t, w, func(rw http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost {
					node.ServeHTTP(rw, r)
					return
				}
				rw.Header().Set(api.HeaderRevision, "9")
				if dropped {
					rw.Header().Set(api.HeaderDropped, "true")
				}
				pretend(http.StatusOK, `{"Success":false,"Value":null}`)(rw, r)
			})
			now, _, err := w.client.TestAndSet(context.Background(), "k", []byte("t"), []byte("v"), client.WriteOptions{})
			if kindOf(t, err) != client.ErrCondition || (now == nil) != dropped {
				t.Errorf("dropped %v: %q, nil %v, %v", dropped, now, now == nil, err)
			}
		})
	}
}
