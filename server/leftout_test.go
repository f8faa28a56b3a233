package server

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A protocol can be left out of a build, by deleting its package, its file and its line here.
func TestTheRedisProtocolCanBeLeftOut(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	without := map[string]string{filepath.Join(dir, "redis.go"): ""}
	for _, pattern := range []string{"resp/*.go", "resp/*/*.go"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, f := range files {
			without[f] = ""
		}
	}
	listen := filepath.Join(dir, "listen.go")
	text, err := os.ReadFile(listen)
	if err != nil {
		t.Fatal(err)
	}
	const line = "\tlistenRedis,\n"
	if strings.Count(string(text), line) != 1 {
		t.Fatalf("%q is not one line of listen.go", line)
	}
	scratch := t.TempDir()
	without[listen] = filepath.Join(scratch, "listen.go")
	if err := os.WriteFile(without[listen], []byte(strings.Replace(string(text), line, "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": without})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(scratch, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	kvnode := filepath.Join(scratch, "kvnode")
	if out, err := exec.Command("go", "build", "-overlay", file, "-o", kvnode, "../cmd/kvnode").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command("go", "list", "-overlay", file, "-deps", "../cmd/kvnode").CombinedOutput(); err != nil ||
		strings.Contains(string(out), "server/resp") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := exec.Command(kvnode, "--version").CombinedOutput(); err != nil || !strings.Contains(string(out), "kvnode") {
		t.Errorf("%v\n%s", err, out)
	}
}
