package server

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tenure/api"
)

// drain posts a drain of the node at that host to another one, and returns the answer.
func (h *host) drain(at *host, more string) (int, string, api.Code) {
	code, text, header := at.call(http.MethodPost, api.PathMembersDrain, fmt.Sprintf(`{"node":%d%s}`, h.cfg.Node, more))
	return code, text, codeOf(header)
}

// awaitConnected waits until each host hears all others.
func awaitConnected(t *testing.T, hosts []*host) {
	t.Helper()
	for _, h := range hosts {
		h.until(t, "connected to all", func() bool {
			return !slices.ContainsFunc(h.members(t).Members, func(m api.Member) bool { return !m.Connected })
		})
	}
}

// drained counts the hosts that say that they are drained.
func drained(t *testing.T, hosts []*host) int {
	n := 0
	for _, h := range hosts {
		if h.status(t).Draining {
			n++
		}
	}
	return n
}

// Of drains of all voters that are asked for at the same time one is refused, and no more than one.
func TestDrainsAtOnce(t *testing.T) {
	hosts := startCluster(t, 3)
	awaitConnected(t, hosts)
	for range 10 {
		type answer struct {
			code int
			text string
			why  api.Code
		}
		answers := make(chan answer, len(hosts))
		for i, h := range hosts {
			go func() {
				code, text, why := h.drain(hosts[(i+1)%3], "")
				answers <- answer{code, text, why}
			}()
		}
		refused := 0
		for range hosts {
			switch a := <-answers; {
			case a.code == 200:
			case a.code == 409 && a.why == api.CodeQuorumLoss &&
				strings.Contains(a.text, "no voter can be master, and nothing can be written until a drain ends (nodes ") &&
				strings.Contains(a.text, "are drained too): nothing was changed; with force it is drained all the same"):
				refused++
			default:
				t.Errorf("drain: %d %s %s", a.code, a.why, a.text)
			}
		}
		if n := drained(t, hosts); refused != 1 || n != 2 {
			t.Fatalf("of 3 drains %d were refused, and %d nodes are drained, want 1 and 2", refused, n)
		}
		master(t, hosts)
		for _, h := range hosts {
			if code, text, _ := h.drain(h, `,"off":true`); code != 200 {
				t.Fatalf("end the drain: %d %s", code, text)
			}
		}
	}
}

// A forced drain does not count the others. Draining a drained node changes nothing. A voter that is not heard does not
// count as left.
func TestDrainLooksAtTheOthers(t *testing.T) {
	hosts := startCluster(t, 3)
	awaitConnected(t, hosts)
	expect := func(h *host, more string, want int, says string) {
		t.Helper()
		for _, at := range []*host{h, hosts[0]} {
			if code, text, _ := h.drain(at, more); code != want || !strings.Contains(text, says) {
				t.Fatalf("drain node %d%s: %d %s, want %d with %q", h.cfg.Node, more, code, text, want, says)
			}
		}
	}
	expect(hosts[1], "", 200, "")
	expect(hosts[2], "", 200, "")
	expect(hosts[0], "", 409, "(nodes 2 and 3 are drained too)")
	expect(hosts[0], `,"force":true`, 200, "")
	if n := drained(t, hosts); n != 3 {
		t.Errorf("%d nodes are drained, want all", n)
	}
	for _, h := range hosts {
		expect(h, `,"off":true`, 200, "")
	}
	master(t, hosts)
	hosts[2].stop(t)
	hosts[0].until(t, "without node 3", func() bool { return !hosts[0].members(t).Members[2].Connected })
	hosts[1].until(t, "without node 3", func() bool { return !hosts[1].members(t).Members[2].Connected })
	expect(hosts[1], "", 409, "with node 2 stopped 1 of 3 voters would be alive, and writes need 2: nothing could be "+
		"written until more are back (node 3 is not heard): nothing was changed")
	if n := drained(t, hosts[:2]); n != 0 {
		t.Errorf("%d nodes are drained though it was refused", n)
	}
}
