package client_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"tenure/api"
	"tenure/client"
)

// A transaction that is denied says which of its operations is not allowed. If an earlier copy was not answered, that
// one may have been allowed.
func TestATransactionThatIsDenied(t *testing.T) {
	const body = `{"Results":null,"Errors":[{"OpIndex":1,"What":"Permission denied: no"}]}`
	for want, lost := range map[error]int{client.ErrDenied: 0, client.ErrUnknown: 1} {
		inWorld(t, 1, client.Config{Timeout: 2 * time.Second}, func(t *testing.T, w *world) {
			node, asked := w.Node(1).Handler(), 0
			serveOne(t, w, func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path != api.PathTxn {
					node.ServeHTTP(rw, r)
					return
				}
				if asked++; asked <= lost {
					panic(http.ErrAbortHandler)
				}
				rw.Header().Set(api.HeaderNode, "1")
				rw.Header().Set(api.HeaderError, string(api.CodeDenied))
				pretend(http.StatusConflict, body)(rw, r)
			})
			set := client.TxnOp{Verb: client.TxnSet, Key: "k"}
			_, err := w.client.Txn(context.Background(), []client.TxnOp{set, set}, client.WriteOptions{})
			if kindOf(t, err) != want {
				t.Fatalf("%v, want %v", err, want)
			}
			var failed *client.TxnError
			if lost == 0 && (!errors.As(err, &failed) || len(failed.Failed) != 1 || failed.Failed[0].Op != 1) {
				t.Errorf("%v", err)
			}
		})
	}
}
