package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tenure/api"
)

// A hand-over has its cause in the status of the node that gave the lease up and of the one that won it, and in
// metrics. On a busy machine a node other than the named one may win. A node that has just connected may not have heard
// of the lease before its release, and then truly says that it knows of no previous owner. In these cases the test
// hands mastership over once more.
func TestStatusAndMetricsTellWhyTheMasterChanged(t *testing.T) {
	hosts := startCluster(t, 3)
	has := func(h *host, ok func(api.TenureChange) bool) bool {
		return slices.ContainsFunc(h.status(t).Lease.Changes, ok)
	}
	var old, next *host
	var to uint64
	for tries := 1; ; tries++ {
		old = master(t, hosts)
		from := old.status(t).Node
		to = from%3 + 1
		old.until(t, "able to hand over", func() bool {
			code, _, _ := old.call("POST", "/v1/master/transfer", fmt.Sprintf(`{"Node":%d}`, to))
			return code == 200
		})
		next = master(t, hosts)
		if has(next, func(c api.TenureChange) bool {
			return c.Event == api.TenureWon && c.Cause == "released" && c.Before == from
		}) {
			break
		}
		t.Logf("handed over from node %d, the master says %+v", from, next.status(t).Lease.Changes)
		if tries == 5 {
			t.Fatal("no winner knows of a hand-over")
		}
	}
	if !has(old, func(c api.TenureChange) bool {
		return c.Event == api.TenureLost && c.Cause == "handed_over" && strings.HasSuffix(c.Detail, fmt.Sprintf("to node %d", to))
	}) {
		t.Errorf("the loser says %+v", old.status(t).Lease.Changes)
	}
	for h, want := range map[*host]string{
		old:  `tenure_mastership_ends_total{cause="handed_over"} `,
		next: `tenure_mastership_starts_total{after="released"} `,
	} {
		if _, text, _ := h.call("GET", "/metrics", ""); !strings.Contains(text, want) || strings.Contains(text, want+"0\n") {
			t.Errorf("no %s", want)
		}
	}
}
