package server

import (
	"bufio"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// line returns the only line of l with those words, as a JSON object in which no name is given twice.
func (l *logText) line(t *testing.T, words string) map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var found map[string]any
	for lines := bufio.NewScanner(strings.NewReader(l.text.String())); lines.Scan(); {
		if !strings.Contains(lines.Text(), words) {
			continue
		}
		if found != nil {
			t.Errorf("%q is logged twice", words)
		}
		if err := json.Unmarshal(lines.Bytes(), &found); err != nil {
			t.Fatal(err)
		}
	}
	if found == nil {
		t.Errorf("no line has %q", words)
	}
	return found
}

// A start and an end in order are a line each, and the founding of an empty cluster is another.
func TestStartAndEndAreLogged(t *testing.T) {
	h := makeCluster(t, 1, func(c *Config) { c.Settings = map[string]string{"quota-bytes": "1GB"} })[0]
	h.cfg.Cluster[0].Addr, h.cfg.PeerAddr = "127.0.0.1:1", ""
	for _, first := range []bool{true, false} {
		log := h.watchLog()
		h.start(t)
		h.awaitReady(t)
		cluster := h.status(t).Cluster
		h.stop(t)
		began, known := log.line(t, `"message":"starting"`), cluster
		if first {
			known = "none yet"
		}
		for name, want := range map[string]any{"version": "test", "cluster": known, "data": h.cfg.Data, "client": h.cfg.ClientAddr,
			"peer": "", "node": float64(1)} {
			if began[name] != want {
				t.Errorf("the start says %s %v, want %v", name, began[name], want)
			}
		}
		if s, _ := began["settings"].(map[string]any); s["quota-bytes"] != "1GB" {
			t.Errorf("the start says the settings %v", s)
		}
		if ended := log.line(t, "stopped in order"); ended["cluster"] != cluster || ended["data"] != h.cfg.Data {
			t.Errorf("the end says %v", ended)
		}
		if !filepath.IsAbs(h.cfg.Data) || log.has("FOUNDED A NEW, EMPTY CLUSTER in "+h.cfg.Data) != first {
			t.Errorf("first: %v, and the log says of the cluster: %v", first, !first)
		}
	}
}

// No line of a start has a name twice.
func TestLinesOfTheLogHaveEachNameOnce(t *testing.T) {
	h := makeCluster(t, 1)[0]
	log := h.watchLog()
	h.start(t)
	h.awaitReady(t)
	h.until(t, "at a feature level", func() bool { return log.has("feature level was raised") })
	h.stop(t)
	log.mu.Lock()
	defer log.mu.Unlock()
	for lines := bufio.NewScanner(strings.NewReader(log.text.String())); lines.Scan(); {
		if name := repeatedName(t, lines.Text()); name != "" {
			t.Errorf("%q is twice in %s", name, lines.Text())
		}
	}
}

// repeatedName returns a name that a JSON object has twice at its top, "" if there is none.
func repeatedName(t *testing.T, object string) string {
	t.Helper()
	d, seen := json.NewDecoder(strings.NewReader(object)), map[string]bool{}
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			t.Fatalf("%s: %v", object, err)
		}
		if text, _ := name.(string); seen[text] {
			return text
		} else {
			seen[text] = true
		}
	}
	return ""
}
