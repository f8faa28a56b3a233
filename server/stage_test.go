package server

import (
	"sync"
	"testing"
)

// Whoever supervises the process is told when the node is ready, and not before.
func TestStages(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var told []Stage
	h := startCluster(t, 1, func(c *Config) {
		c.Told = func(s Stage) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, s)
		}
	})[0]
	last := func() (s Stage) {
		mu.Lock()
		defer mu.Unlock()
		if len(told) > 0 {
			s = told[len(told)-1]
		}
		return s
	}
	h.until(t, "told to be ready", func() bool { return last().Ready })
	if code, text, _ := h.call("GET", "/health/ready", ""); code != 200 {
		t.Errorf("it is told to be ready, and is not: %d %s", code, text)
	}
	h.until(t, "told to be the master", func() bool { return last() == Stage{Ready: true, Text: "master"} })
	mu.Lock()
	defer mu.Unlock()
	ready := false
	for _, s := range told {
		if ready && !s.Ready || s.Text == "" {
			t.Errorf("%+v", told)
		}
		ready = ready || s.Ready
	}
}

// A node of a new cluster that waits for nodes which nobody has started yet keeps nobody waiting.
func TestAFounderThatWaitsIsReady(t *testing.T) {
	n := newNode(Config{Node: 1}, nil)
	n.front.SetProblem(waitsForMembers)
	if s := n.stage(0); !s.Ready || s.Text != waitsForMembers {
		t.Errorf("%+v", s)
	}
	n.front.SetProblem(waitsForStore)
	if s := n.stage(6); s.Ready || s.Moves != 7 {
		t.Errorf("while it opens its directory: %+v", s)
	}
	n.front.SetProblem(waitsForItself)
	if s := n.stage(6); s.Ready || s.Moves != 6 {
		t.Errorf("before it takes part: %+v", s)
	}
}
