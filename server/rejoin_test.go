package server

import (
	"errors"
	"os"
	"strings"
	"testing"

	"tenure/api"
)

// With --rejoin a node of --cluster that has lost its disk takes its place again, each time, with an unchanged command
// line. Without --rejoin it does not.
func TestALostDiskIsRejoined(t *testing.T) {
	hosts := makeCluster(t, 3, func(c *Config) { c.Rejoin = c.Node == 3 })
	for _, h := range hosts {
		h.start(t)
	}
	for _, h := range hosts {
		h.awaitReady(t)
	}
	three := hosts[2]
	if s := three.status(t); s.Node != 3 {
		t.Fatalf("with a cluster that is new it is node %d", s.Node)
	}
	for _, id := range []uint64{4, 5} { // 4 is not listed any more when its disk is lost
		three.loseDisk(t)
		log := three.watchLog()
		three.start(t)
		three.awaitStatus(t, func(s api.Status) bool { return s.Node == id })
		three.until(t, "a voter again", func() bool {
			list := hosts[0].members(t).Members
			return len(list) == 3 && list[2].Node == id && list[2].Name == "node-3" && list[2].Voter
		})
		if !log.has("the data directory is empty and the cluster is not") {
			t.Error("the log does not say so")
		}
	}
	two := hosts[1]
	two.loseDisk(t)
	err := Run(t.Context(), two.cfg)
	if err == nil || !strings.Contains(err.Error(), "must not vote") || errors.Is(err, ErrConfig) {
		t.Errorf("without --rejoin: %v", err)
	}
}

// loseDisk stops the node and removes its data.
func (h *host) loseDisk(t *testing.T) {
	t.Helper()
	h.stop(t)
	if err := os.RemoveAll(h.cfg.Data); err != nil {
		t.Fatal(err)
	}
}
