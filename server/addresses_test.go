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
// moves again, they reach it, but the operator must change the listed address.
func TestANodeWithAnotherAddress(t *testing.T) {
	hosts := startCluster(t, 3)
	moved := hosts[2]
	for i, text := range []string{"", "kvctl member update node-3 --peer-address "} {
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

// move starts h, which is stopped, at another address.
func (h *host) move(t *testing.T) (addr string) {
	t.Helper()
	addr = freeAddr(t)
	h.cfg.Cluster = slices.Clone(h.cfg.Cluster)
	for i := range h.cfg.Cluster {
		if h.cfg.Cluster[i].Node == h.cfg.Node {
			h.cfg.Cluster[i].Addr = addr
		}
	}
	h.cfg.PeerAddr = addr
	h.start(t)
	return addr
}

// A change of the members writes down where a member is connected, and nothing of one that may be elsewhere when it
// comes back. An update is of one member only.
func TestAChangeKeepsToItsMember(t *testing.T) {
	for _, c := range []struct {
		what  string
		other bool // node 3 is connected when node 2 is updated
		begin func(t *testing.T, hosts []*host)
	}{
		{"an update", false, updateOfTwo},
		{"an update while the other is there", true, updateOfTwo},
		{"a node joins", false, func(t *testing.T, hosts []*host) {
			four := hosts[0].joiner(t, func(c *Config) { c.NonVoter = true })
			four.awaitStatus(t, func(s api.Status) bool { return s.Node == 4 && s.Role == api.RoleNonVoter })
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			hosts := startCluster(t, 3)
			awaitConnected(t, hosts)
			moved := hosts[2]
			if !c.other {
				moved.stop(t)
			}
			master(t, hosts[:2])
			c.begin(t, hosts)
			if c.other {
				moved.stop(t)
			}
			addr := moved.move(t)
			for _, h := range hosts {
				h.until(t, "told of the address", func() bool { return h.members(t).Members[2].PeerAddress == addr })
			}
			moved.until(t, "content", func() bool { return moved.status(t).Problem == "" })
		})
	}
}

// updateOfTwo writes down where node 2 is.
func updateOfTwo(t *testing.T, hosts []*host) {
	t.Helper()
	body := fmt.Sprintf(`{"node":2,"peer_address":%q}`, hosts[1].cfg.PeerAddr)
	hosts[0].until(t, "updated", func() bool {
		code, text, _ := hosts[0].call(http.MethodPost, api.PathMembersUpdate, body)
		return code == 200 || strings.Contains(text, "already")
	})
}

// The members list both addresses of a node, and the node starts with two different ones. Its status, and that of the
// other nodes, names one command that corrects both.
func TestAMovedNodeIsToldOfBothAddresses(t *testing.T) {
	hosts := startCluster(t, 3)
	awaitConnected(t, hosts)
	moved := hosts[2]
	update := func() {
		t.Helper()
		body := fmt.Sprintf(`{"node":3,"peer_address":%q,"client_address":%q}`, moved.cfg.PeerAddr, moved.cfg.ClientAddr)
		if code, text, _ := hosts[0].call(http.MethodPost, api.PathMembersUpdate, body); code != 200 {
			t.Fatalf("update: %d %s", code, text)
		}
	}
	update()
	was := moved.cfg
	moved.stop(t)
	moved.cfg.ClientAddr = freeAddr(t)
	addr := moved.move(t)
	moved.awaitReady(t)
	advice := fmt.Sprintf("at peer %s and client %s, and it was started with %s and %s: if it is reached where they look, "+
		"start it with --advertise-peer %[1]s --advertise-client %[2]s; otherwise type: kvctl member update node-3 "+
		"--peer-address %[3]s --client-address %[4]s", was.PeerAddr, was.ClientAddr, addr, moved.cfg.ClientAddr)
	moved.until(t, "told", func() bool { return moved.status(t).Problem == "the members look for this node "+advice })
	for _, h := range hosts[:2] {
		h.until(t, "told", func() bool {
			p := h.status(t).Peers
			return p[1].Node == 3 && p[1].Problem == "the members look for node 3 "+advice && p[0].Problem == ""
		})
	}
	update()
	for _, h := range hosts {
		h.until(t, "content", func() bool {
			s := h.status(t)
			return s.Problem == "" && !slices.ContainsFunc(s.Peers, func(p api.PeerStatus) bool { return p.Problem != "" })
		})
	}
}
