package server

import (
	"errors"
	"math"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
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

// Nobody waits for a count but the first reader, and a count that took long is not repeated soon.
func TestKeyCount(t *testing.T) {
	counts, begun := make(chan int), make(chan struct{}, 10)
	k := &keyCount{count: func() (int, error) {
		begun <- struct{}{}
		n := <-counts
		if n < 0 {
			return 0, errors.New("failed")
		}
		return n, nil
	}}
	go func() { counts <- 7 }()
	if n := k.read(); n != 7 {
		t.Errorf("the first reader gets %v", n)
	}
	<-begun
	if n := k.read(); n != 7 || k.running != nil {
		t.Errorf("%v, and another count has begun at once: %v", n, k.running != nil)
	}
	k.mu.Lock()
	k.next = time.Time{}
	k.mu.Unlock()
	if n := k.read(); n != 7 {
		t.Errorf("during a count: %v", n)
	}
	<-begun
	if n := k.read(); n != 7 || len(begun) != 0 {
		t.Errorf("%v, and %d counts run beside one", n, len(begun))
	}
	counts <- -1
	failing := &keyCount{count: func() (int, error) { return 0, errors.New("failed") }}
	if n := failing.read(); !math.IsNaN(n) {
		t.Errorf("a count that failed is %v", n)
	}
}
