package show

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

const (
	quotaPrefix = "tenants/a/"
	quotaBytes  = 4 * mib
)

// prefixFull fills a prefix up to its quota, on three nodes: the refusal names the prefix, keys beside it are written
// all the while, deletes heal it, and the count is exact.
func prefixFull(ctx context.Context, s *stage) error {
	_, to, done, err := started(ctx, cluster.Config{Binaries: s.bin, Dir: filepath.Join(s.dir, "prefix"), Nodes: 3})
	if err != nil {
		return err
	}
	defer done()
	if _, err := to.Nodes().FinishUpgrade(ctx); err != nil {
		return err
	}
	limits := client.QuotaLimits{Bytes: quotaBytes}
	if err := to.Quotas().Set(ctx, quotaPrefix, limits, client.WriteOptions{}); err != nil {
		return err
	}
	for range 2 {
		n, err := fillPrefix(ctx, to)
		if err != nil {
			return err
		}
		begin := time.Now()
		if _, err := to.Delete(ctx, tenantKey(n-1), client.WriteOptions{}); err != nil {
			return fmt.Errorf("delete under the full quota: %w", err)
		}
		if _, err := to.Set(ctx, tenantKey(n-1), make([]byte, fullValueBytes), client.WriteOptions{}); err != nil {
			return fmt.Errorf("write after a delete under the full quota: %w", err)
		}
		healed := time.Since(begin)
		for i := range n {
			if _, err := to.Delete(ctx, tenantKey(i), client.WriteOptions{}); err != nil {
				return fmt.Errorf("delete %d of %d: %w", i, n, err)
			}
		}
		q, _, err := to.Quotas().Get(ctx, quotaPrefix, client.ReadOptions{})
		if err != nil {
			return err
		}
		if q.UsedBytes != 0 || q.UsedKeys != 0 {
			return fmt.Errorf("after all was deleted the quota has %+v", q)
		}
		s.say("a quota of 4 MiB of %s: %d values of %d bytes, then 507 with the prefix; keys beside it are written; a "+
			"delete and a write in its place took %.2f s; all deleted, nothing is counted", quotaPrefix, n,
			fullValueBytes, healed.Seconds())
	}
	return nil
}

func tenantKey(i int) string { return fmt.Sprintf("%s%d", quotaPrefix, i) }

// fillPrefix writes under the prefix until its quota refuses, and beside it after each write.
func fillPrefix(ctx context.Context, to *client.Client) (n int, err error) {
	value := make([]byte, fullValueBytes)
	for refused := false; !refused; n++ {
		_, err := to.Set(ctx, tenantKey(n), value, client.WriteOptions{})
		refused = errors.Is(err, client.ErrNoSpace)
		if err != nil && (!refused || !strings.Contains(err.Error(), fmt.Sprintf("%q", quotaPrefix))) {
			return n, fmt.Errorf("write %d under the quota: %w", n, err)
		}
		for _, key := range []string{"tenants/b/k", "tenants/a", "other"} {
			if _, err := to.Set(ctx, key, value, client.WriteOptions{}); err != nil {
				return n, fmt.Errorf("write %s beside the quota: %w", key, err)
			}
		}
		if n > quotaBytes/fullValueBytes {
			return n, errors.New("more was written than the quota allows")
		}
	}
	return n - 1, nil
}
