package compat

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
)

// TestWordsThatClientsLookFor: Consul's clients tell errors apart by their status, and by words of their texts. Each
// row is what a published client compares, with the client.
func TestWordsThatClientsLookFor(t *testing.T) {
	c := start(t)
	node := dial(t, c.Nodes()[0])
	txn := func(bytes int) error {
		_, _, _, err := node.KV().Txn(api.KVTxnOps{{Verb: api.KVSet, Key: "large", Value: make([]byte, bytes)}}, nil)
		return err
	}
	renewed := func() error {
		return node.Session().RenewPeriodic("1ms", "11111111-2222-3333-4444-555555555555", nil, make(chan struct{}))
	}
	query := func(path string) error { _, err := node.Raw().Query(path, new(any), nil); return err }
	put := func(p *api.KVPair) error { _, err := node.KV().Put(p, nil); return err }
	session := func(ttl string) error {
		_, _, err := node.Session().Create(&api.SessionEntry{TTL: ttl}, nil)
		return err
	}
	acquire := func(id string) error {
		_, _, err := node.KV().Acquire(&api.KVPair{Key: "lock", Session: id}, nil)
		return err
	}
	_, _, elsewhere := node.KV().Get("k", &api.QueryOptions{Datacenter: "elsewhere"})
	for _, x := range []struct {
		client, what string
		err          error
		status       int // 0: any
		begins       string
		has          string
	}{
		{"Vault, Terraform", "a value too large for a transaction", txn(600_000), 0, "", "is too large"},
		{"Vault, Terraform", "a body too large for a transaction", txn(8 << 20), 0, "", "is too large"},
		{"Terraform", "the largest value", txn(512 << 10), 0, "", ""},
		{"Terraform", "the largest value, by PUT", put(&api.KVPair{Key: "large", Value: make([]byte, 512<<10)}), 0, "", ""},
		{"Patroni", "a TTL too short", session("1s"), 500, "Invalid Session TTL", ""},
		{"Patroni", "a session that has ended", acquire("11111111-2222-3333-4444-555555555555"), 500, "invalid session", ""},
		{"consul/api", "renewing a session that has ended", renewed(), 0, "", api.ErrSessionExpired.Error()},
		{"consul-template", "an endpoint of another edition", query("/v1/partitions"), 404, "Invalid URL path", ""},
		{"consul, Nomad", "tokens where there are none", query("/v1/acl/tokens"), 0, "ACL support disabled", ""},
		{"Vault, consul/api", "another datacenter", elsewhere, 500, "No path to datacenter", ""},
	} {
		var got api.StatusError
		switch errors.As(x.err, &got); {
		case x.begins == "" && x.has == "":
			if x.err != nil {
				t.Errorf("%s: %s: %v", x.client, x.what, x.err)
			}
		case x.err == nil, x.status != 0 && got.Code != x.status, !strings.HasPrefix(got.Body, x.begins),
			!strings.Contains(x.err.Error(), x.has):
			t.Errorf("%s: %s: status %d, a text that begins with %q and has %q are looked for: %v",
				x.client, x.what, x.status, x.begins, x.has, x.err)
		}
	}
	client := http.Client{Timeout: 10 * time.Second}
	r, err := client.Get("http://" + c.Nodes()[0].Client + "//v1/kv/large")
	must(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	must(t, err)
	if r.StatusCode == http.StatusNotFound { // for every client of Consul there is no such key then
		t.Errorf("a doubled slash: %s %s", r.Status, text)
	}
}
