package server

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// The build, each peer, the keys and the sessions are in the metrics; a peer that has stopped shows.
func TestMetricsOfPeersAndState(t *testing.T) {
	hosts := startCluster(t, 3)
	m := master(t, hosts)
	others := []*host{hosts[int(m.cfg.Node)%3], hosts[(int(m.cfg.Node)+1)%3]}
	for _, key := range []string{"a", "b", "c"} {
		m.call(http.MethodPut, "/v1/kv/"+key, "")
	}
	m.call(http.MethodPut, "/v1/session/create", "")
	has := func(lines ...string) func() bool {
		return func() bool {
			text := metricsOf(m)
			for _, l := range lines {
				if !regexp.MustCompile("(?m)^" + l + "$").MatchString(text) {
					return false
				}
			}
			return true
		}
	}
	peer := func(h *host, name, value string) string {
		return name + `\{peer="` + string(rune('0'+h.cfg.Node)) + `"\} ` + value
	}
	m.until(t, "showing its build", has(`tenure_build_info\{goversion="go[^"]*",revision="",version="test"\} 1`))
	m.until(t, "counting keys and sessions", has("tenure_keys 3", "tenure_sessions 1"))
	m.until(t, "showing its peers", has(peer(others[0], "tenure_peer_connected", "1"), peer(others[1], "tenure_peer_connected", "1"),
		peer(others[0], "tenure_peer_lag_slots", "0"), peer(others[1], "tenure_peer_lag_slots", "0"),
		peer(others[0], "tenure_peer_last_heard_seconds", `[0-9.e-]+`)))
	others[0].stop(t)
	m.call(http.MethodPut, "/v1/kv/d", "")
	m.until(t, "showing that a peer is gone", has(peer(others[0], "tenure_peer_connected", "0"), peer(others[1], "tenure_peer_connected", "1"),
		peer(others[0], "tenure_peer_lag_slots", "[1-9][0-9]*")))
	if strings.Contains(metricsOf(m), `peer="`+string(rune('0'+m.cfg.Node))+`"`) {
		t.Error("a node is its own peer")
	}
}
