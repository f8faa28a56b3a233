package client_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"tenure/api"
	"tenure/client"
)

// answers returns a client of a node that gives these answers to the requests below path, one after the other, and the
// last one to all that follow. It answers other requests with a status.
func answers(t *testing.T, path string, bodies ...string) *client.Client {
	t.Helper()
	var mu sync.Mutex
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set(api.HeaderIndex, "7")
		w.Header().Set(api.HeaderRevision, "7")
		w.Header().Set("Content-Type", "application/json")
		body := `{"node":1,"revision":7}`
		if strings.HasPrefix(r.URL.Path, path) {
			body, bodies = bodies[0], bodies[min(1, len(bodies)-1):]
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(node.Close)
	return clientOf(t, client.Config{Endpoints: []string{node.URL}})
}

// An answer that was not understood leaves nothing in the result: members that the next answer lacks are zero.
func TestNothingIsLeftOfAnAnswerNotUnderstood(t *testing.T) {
	for name, x := range map[string]struct {
		path, first, second string
		call                func(*client.Client) (any, error)
		want                any
	}{
		"a read of another": {api.PathQuota, `{"Prefix":"other/","Bytes":7,"Keys":9,"Counting":true}`, `{"Prefix":"a/","Bytes":5}`,
			func(c *client.Client) (any, error) {
				q, _, err := c.Quotas().Get(t.Context(), "a/", client.ReadOptions{})
				return q, err
			}, client.Quota{Prefix: "a/", Bytes: 5}},
		"a read that breaks off": {api.PathQuota, `{"Prefix":"a/","Keys":9,"Bytes":"many"}`, `{"Prefix":"a/","Bytes":5}`,
			func(c *client.Client) (any, error) {
				q, _, err := c.Quotas().Get(t.Context(), "a/", client.ReadOptions{})
				return q, err
			}, client.Quota{Prefix: "a/", Bytes: 5}},
		"a listing of keys": {api.PathKV, `["old/1","old/2",3]`, `null`,
			func(c *client.Client) (any, error) {
				keys, _, err := c.Keys(t.Context(), "", client.ListOptions{})
				return keys, err
			}, []string(nil)},
		"a write": {api.PathACLPolicy, `{"Name":"p","Description":"of another","Rules":"r"}`, `{"ID":"1","Name":"p"}`,
			func(c *client.Client) (any, error) {
				return c.ACL().CreatePolicy(t.Context(), client.PolicySpec{Name: "p"}, client.WriteOptions{})
			}, client.Policy{ID: "1", Name: "p"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := x.call(answers(t, x.path, x.first, x.second))
			if err != nil || !reflect.DeepEqual(got, x.want) {
				t.Errorf("%+v, %v; want %+v", got, err, x.want)
			}
		})
	}
}
