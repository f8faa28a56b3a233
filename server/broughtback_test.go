package server

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"tenure/api"
	"tenure/kv"
)

// What a client brings back from another cluster is refused, or answered as of another store. It is never taken for
// something of this one.
func TestTokensOfAnotherClusterAreRefused(t *testing.T) {
	a := startCluster(t, 1, func(c *Config) { c.RedisAddr = freeAddr(t) })[0]
	b := startCluster(t, 1, func(c *Config) { c.RedisAddr = freeAddr(t) })[0]
	const acquire = `{"Owner":"me","TTL":"2s","Acquisition":"one"}`
	a.until(t, "granting leases", func() bool { status, _ := a.lease(t, "l/acquire", acquire); return status == 200 })
	_, grant := a.lease(t, "l/acquire", acquire)
	renew := fmt.Sprintf(`{"Owner":"me","Grant":%q}`, grant.Grant)
	b.until(t, "granting leases", func() bool {
		status, _ := b.lease(t, "other/acquire", acquire)
		return status == 200
	})
	if status, text, _ := b.call("POST", "/v1/lease/l/renew", renew); status != 409 {
		t.Errorf("a lease of another cluster is renewed: %d %s", status, text)
	}
	index := uint64(0)
	for a.awaitReady(t); index < 40; {
		_, _, h := a.call("PUT", "/v1/kv/k", "v")
		index, _ = strconv.ParseUint(h.Get(api.HeaderRevision), 10, 64)
	}
	if _, _, h := b.call("GET", fmt.Sprintf("/v1/kv/k?index=%d&wait=20s", index), ""); h.Get(api.HeaderIndex) == "" {
		t.Error("an index of another store is waited for")
	}
	r := dialRedis(t, b)
	if got := r.do(fmt.Sprint("TENURE.WATCH k ", index)); !strings.HasPrefix(got, "-LOST ") {
		t.Error(got)
	}
	r = dialRedis(t, b)
	b.until(t, "at the newest feature level", func() bool { return b.status(t).FeatureLevel == kv.NewestLevel })
	got := r.do(fmt.Sprintf("TENURE.ONCE id %d SET k v", index))
	if !strings.HasPrefix(got, "-NOTONCE the base is above") {
		t.Error(got)
	}
	if got := r.do("SCAN 6 COUNT 1"); !strings.HasPrefix(got, "-ERR invalid cursor") {
		t.Error(got)
	}
}
