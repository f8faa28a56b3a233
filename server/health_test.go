package server

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"tenure/api"
)

// health asks the port for health checks of h.
func (h *host) health(path string) (int, string) {
	c := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	rsp, err := c.Get("http://" + h.cfg.HealthAddr + path)
	if err != nil {
		return 0, err.Error()
	}
	defer rsp.Body.Close()
	text, err := io.ReadAll(rsp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return rsp.StatusCode, string(text)
}

// asClients waits until both ports of h report the same readiness, with this status, and the health port reports that h
// lives.
func (h *host) asClients(t *testing.T, what string, status int) {
	t.Helper()
	h.until(t, what, func() bool {
		code, text, _ := h.call(http.MethodGet, api.PathHealthReady, "")
		own, ownText := h.health(api.PathHealthReady)
		live, _ := h.health(api.PathHealthLive)
		return code == status && own == code && ownText == text && live == http.StatusOK
	})
}

// TestHealthIsToldAtEachTime: the port for health checks answers like the port for clients while the node waits for its
// cluster, when it is ready, when the majority is lost, and until it has stopped.
func TestHealthIsToldAtEachTime(t *testing.T) {
	hosts := makeCluster(t, 3, func(c *Config) { c.HealthAddr = freeAddr(t) })
	first := hosts[0]
	log := first.watchLog()
	first.start(t)
	first.asClients(t, "waiting for the others", http.StatusServiceUnavailable)
	first.until(t, "said to wait for the others", func() bool {
		_, text := first.health(api.PathHealthReady)
		return strings.Contains(text, waitsForMembers)
	})
	hosts[1].start(t)
	hosts[2].start(t)
	for _, h := range hosts {
		h.asClients(t, "ready", http.StatusOK)
	}
	if code, text := first.health(api.PathMetrics); code != http.StatusOK || !strings.Contains(text, "tenure_master_ready") {
		t.Errorf("%d %s", code, text)
	}
	if code, text := first.health(api.PathStatus); code != http.StatusNotFound || !strings.Contains(text, "kvnode --client") {
		t.Errorf("%d %s", code, text)
	}
	hosts[1].stop(t)
	hosts[2].stop(t)
	first.asClients(t, "without a majority", http.StatusServiceUnavailable)
	first.stop(t)
	if began := log.line(t, `"message":"starting"`); began["health"] != first.cfg.HealthAddr {
		t.Errorf("the start says health %v", began["health"])
	}
	if code, text := first.health(api.PathHealthLive); code != 0 {
		t.Errorf("after the end: %d %s", code, text)
	}
}

// TestHealthNeedsNoCertificateAndNoToken: where clients need both.
func TestHealthNeedsNoCertificateAndNoToken(t *testing.T) {
	ca, configure, _ := overTLS(t)
	h := startTLS(t, &requests{files: ca.Client(t, "c")}, 1, func(c *Config) {
		configure(c)
		c.ACL, c.HealthAddr = true, freeAddr(t)
	})[0]
	for _, path := range []string{api.PathHealthLive, api.PathHealthReady, api.PathMetrics} {
		if code, text := h.health(path); code != http.StatusOK {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
}

// TestATakenHealthPortEndsAStart: with what to do.
func TestATakenHealthPortEndsAStart(t *testing.T) {
	h := makeCluster(t, 1)[0]
	h.cfg.HealthAddr = h.cfg.ClientAddr
	err := Run(t.Context(), h.cfg)
	if err == nil || errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "choose another with --health") {
		t.Error(err)
	}
}

// TestAFloodOfHealthChecksIsRefused: whoever asks much more often than anybody needs is told to wait.
func TestAFloodOfHealthChecksIsRefused(t *testing.T) {
	h := startCluster(t, 1, func(c *Config) { c.HealthAddr, c.Limits.Loopback = freeAddr(t), true })[0]
	for n := 1; ; n++ {
		code, text := h.health(api.PathHealthLive)
		if code == http.StatusTooManyRequests {
			break
		}
		if code != http.StatusOK || n > 100*healthRate {
			t.Fatalf("request %d: %d %s", n, code, text)
		}
	}
	if code, text, _ := h.call(http.MethodGet, api.PathHealthLive, ""); code != http.StatusOK {
		t.Errorf("at the port for clients: %d %s", code, text)
	}
}

// TestHealthChecksTakeNoFilesOfOthers: the connections of the port are bounded, and few where the process may open few
// files, which clients have the fewer of.
func TestHealthChecksTakeNoFilesOfOthers(t *testing.T) {
	for _, c := range []struct {
		files uint64
		conns int
		left  uint64
	}{{0, 128, 0}, {65536, 128, 65408}, {1024, 128, 896}, {256, 32, 224}, {8, 2, 6}, {1, 2, 1}} {
		own, left := Limits{}.healthLimits(c.files)
		if own.Conns != c.conns || left != c.left || own.Validate() != nil {
			t.Errorf("%d files: %d connections, %d left, %v", c.files, own.Conns, left, own.Validate())
		}
	}
}
