package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"tenure/api"
	"tenure/server/runner"
	"tenure/server/transport"
)

// members is what a node answers about the members.
func (h *host) members(t *testing.T) api.MemberList {
	t.Helper()
	_, text, _ := h.call(http.MethodGet, api.PathMembers, "")
	var l api.MemberList
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		t.Fatalf("members %q: %v", text, err)
	}
	return l
}

// remove begins the removal of a node at h and waits until it is done.
func (h *host) remove(t *testing.T, node *host) {
	t.Helper()
	id := fmt.Sprintf("remove-%d", node.cfg.Node)
	body := fmt.Sprintf(`{"node":%d,"operation":%q}`, node.cfg.Node, id)
	for range 2 { // an answer that was lost is asked for again
		if code, text, _ := h.call(http.MethodPost, api.PathMembersRemove, body); code != 200 {
			t.Fatalf("remove node %d: %d %s", node.cfg.Node, code, text)
		}
	}
	h.until(t, "without "+id, func() bool {
		l := h.members(t)
		return len(l.Operations) > 0 && l.Operations[0].ID == id && l.Operations[0].State == api.OperationDone &&
			l.Settled == l.Number
	})
	if err := <-node.done; !errors.Is(err, runner.ErrRemoved) {
		t.Errorf("node %d, which was removed, ended with: %v", node.cfg.Node, err)
	}
	node.done = nil
}

// Members leave one after the other, asked for at any node, the master too. The remaining members go on. A removed node
// says that it was removed, and does not start again.
func TestMembersLeave(t *testing.T) {
	t.Parallel()
	hosts := startCluster(t, 3)
	if code, text, _ := hosts[0].call(http.MethodPut, "/v1/kv/k", "before"); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	first := master(t, hosts)
	follower := hosts[int(first.cfg.Node)%3]
	last := hosts[int(follower.cfg.Node)%3]
	last.remove(t, follower)
	last.remove(t, first)
	if now := master(t, []*host{last}); now.status(t).Epoch == 0 {
		t.Error("the last node is no master")
	}
	if code, text, _ := last.call(http.MethodGet, "/v1/kv/k?raw", ""); code != 200 || text != "before" {
		t.Fatalf("after the removals: %d %q", code, text)
	}
	if code, text, h := last.call(http.MethodPost, api.PathMembersRemove,
		fmt.Sprintf(`{"node":%d}`, last.cfg.Node)); code != 409 || codeOf(h) != api.CodeQuorumLoss {
		t.Errorf("the last voter was removed: %d %s %s", code, codeOf(h), text)
	}
	follower.start(t)
	// It knows by itself if it had applied its removal, and else is told when it connects.
	if err := <-follower.done; !errors.Is(err, transport.ErrRemoved) && !errors.Is(err, runner.ErrRemoved) {
		t.Errorf("a node that was removed starts again: %v", err)
	}
	follower.done = nil
}

// A node that is drained hands mastership over, is not ready, and does not become master until that is taken back.
func TestDrain(t *testing.T) {
	hosts := startCluster(t, 3)
	awaitConnected(t, hosts)
	old := master(t, hosts)
	other := hosts[int(old.cfg.Node)%3]
	body := fmt.Sprintf(`{"node":%d}`, old.cfg.Node)
	if code, text, _ := other.call(http.MethodPost, api.PathMembersDrain, body); code != 200 {
		t.Fatalf("drain node %d: %d %s", old.cfg.Node, code, text)
	}
	other.until(t, "told of another master", func() bool { m := other.status(t).Master; return m != 0 && m != uint64(old.cfg.Node) })
	if code, _, _ := old.call(http.MethodGet, "/health/ready", ""); code != 503 || !old.status(t).Draining {
		t.Errorf("a drained node is ready: %d", code)
	}
	body = fmt.Sprintf(`{"node":%d,"off":true}`, old.cfg.Node)
	if code, text, _ := other.call(http.MethodPost, api.PathMembersDrain, body); code != 200 {
		t.Fatalf("end the drain: %d %s", code, text)
	}
	old.awaitReady(t)
}
