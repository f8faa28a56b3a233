package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tenure/api"
)

// A hand-over has its cause in the status of the node that gave the lease up and of the one that won it, and in
// metrics. On a machine that is busy elsewhere another node than the named one may win.
func TestStatusAndMetricsTellWhyTheMasterChanged(t *testing.T) {
	hosts := startCluster(t, 3)
	old := master(t, hosts)
	from := old.status(t).Node
	to := from%3 + 1
	if code, text, _ := old.call("POST", "/v1/master/transfer", fmt.Sprintf(`{"Node":%d}`, to)); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	has := func(h *host, ok func(api.TenureChange) bool) bool {
		return slices.ContainsFunc(h.status(t).Lease.Changes, ok)
	}
	var next *host
	old.until(t, "the hand-over in the status of the winner", func() bool {
		for _, h := range hosts {
			if h != old && has(h, func(c api.TenureChange) bool {
				return c.Event == api.TenureWon && c.Cause == "released" && c.Before == from
			}) {
				next = h
			}
		}
		return next != nil
	})
	if !has(old, func(c api.TenureChange) bool {
		return c.Event == api.TenureLost && c.Cause == "handed_over" && strings.HasSuffix(c.Detail, fmt.Sprintf("to node %d", to))
	}) {
		t.Errorf("the loser says %+v", old.status(t).Lease.Changes)
	}
	for h, want := range map[*host]string{old: `tenure_mastership_ends_total{cause="handed_over"} 1`, next: `tenure_mastership_starts_total{after="released"} 1`} {
		if _, text, _ := h.call("GET", "/metrics", ""); !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
}
