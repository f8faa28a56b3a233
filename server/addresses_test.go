package server

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tenure/api"
)

// A node whose own address in --cluster was changed is reached there, and the members write the address down. When it
// moves again, they reach it, and leave it to the operator to change what is written down.
func TestANodeWithAnotherAddress(t *testing.T) {
	hosts := startCluster(t, 3)
	moved := hosts[2]
	for i, text := range []string{"", "kvctl member update 3 --peer-address "} {
		moved.stop(t)
		addr := freeAddr(t)
		moved.cfg.Cluster = slices.Clone(moved.cfg.Cluster)
		moved.cfg.Cluster[2].Addr, moved.cfg.PeerAddr = addr, addr
		moved.start(t)
		moved.awaitReady(t)
		if i == 1 {
			if p := moved.status(t).Problem; !strings.Contains(p, text+addr) {
				t.Errorf("status of node 3 does not say what to type: %q", p)
			}
			body := fmt.Sprintf(`{"node":3,"peer_address":%q}`, addr)
			if code, text, _ := hosts[0].call(http.MethodPost, api.PathMembersUpdate, body); code != 200 {
				t.Fatalf("update: %d %s", code, text)
			}
		}
		for _, h := range hosts {
			h.until(t, "told of the address", func() bool { return h.members(t).Members[2].PeerAddress == addr })
		}
		moved.until(t, "content", func() bool { return moved.status(t).Problem == "" })
	}
}
