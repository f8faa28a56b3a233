package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tenure/api"
)

// A stopping node, master or not, answers its blocking queries as at the end of their wait, in each mode: to consul/api
// an error is the loss of a lock.
func TestAStopAnswersWhoWaits(t *testing.T) {
	hosts := startCluster(t, 3)
	first := master(t, hosts)
	if code, text, _ := first.call(http.MethodPut, "/v1/kv/k", "v"); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	_, _, header := first.call(http.MethodGet, "/v1/kv/k?consistent", "")
	index := header.Get(api.HeaderIndex)
	for _, h := range []*host{hosts[int(first.cfg.Node)%3], first} {
		type answer struct {
			mode, text string
			code       int
			header     http.Header
		}
		modes := []string{"", "&consistent", "&stale"}
		answers := make(chan answer, len(modes))
		for _, mode := range modes {
			go func() {
				code, text, header := h.call(http.MethodGet, fmt.Sprintf("/v1/kv/k?raw&wait=5m&index=%s%s", index, mode), "")
				answers <- answer{mode, text, code, header}
			}()
		}
		h.until(t, "asked", func() bool { return strings.Contains(metricsOf(h), "\ntenure_http_waiting 3\n") })
		h.stop(t)
		for range modes {
			if a := <-answers; a.code != 200 || a.text != "v" || a.header.Get(api.HeaderIndex) != index {
				t.Errorf("node %d%s: %d %s, index %s", h.cfg.Node, a.mode, a.code, a.text, a.header.Get(api.HeaderIndex))
			}
		}
		h.start(t)
		h.awaitReady(t)
	}
}
