package server

import (
	"net/http"
	"testing"

	"tenure/api"
)

// A follower that has not applied an install yet draws bases that are too old. No earlier copy of these commands can
// exist, so each is applied exactly once.
func TestWritesSoonAfterAnInstallAreDone(t *testing.T) {
	hosts := startCluster(t, 3)
	m := master(t, hosts)
	m.ok(t, http.MethodPost, api.PathUpgradeFinish, "")
	m.ok(t, http.MethodPut, "/v1/kv/k", "v")
	snapshot, _ := m.ok(t, http.MethodGet, api.PathBackup, "")
	for range 10 {
		m.ok(t, http.MethodPut, api.PathSnapshot, snapshot)
		for _, h := range but(hosts, m) {
			h.ok(t, http.MethodPut, "/v1/session/create", "")
		}
		m.ok(t, http.MethodPut, api.PathSnapshot, snapshot)
		but(hosts, m)[0].ok(t, http.MethodPut, api.PathSnapshot, snapshot)
	}
	text, _ := m.ok(t, http.MethodGet, "/v1/session/list", "")
	if text != "[]" {
		t.Errorf("sessions are left: %s", text)
	}
}
