package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenure/internal/freeport"
	"tenure/server"
)

// TestAListThatContradictsTheDataIsBadConfiguration runs the true server: once alone, then with lists that its data
// contradicts.
func TestAListThatContradictsTheDataIsBadConfiguration(t *testing.T) {
	inEmptyDir(t, nil)
	port, err := freeport.Run(2)
	if err != nil {
		t.Fatal(err)
	}
	client, peer := freeport.Address(port), freeport.Address(port+1)
	old := run
	defer func() { run = old }()
	run = func(ctx context.Context, c server.Config) error {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		go endWhenReady(ctx, cancel, "http://"+c.ClientAddr+"/health/ready")
		return server.Run(ctx, c)
	}
	start := func(args ...string) (int, string) {
		var stderr bytes.Buffer
		code := execute(append([]string{"--data", "data", "--client", client, "--guardian=false", "--log-level",
			"error"}, args...), nil, &stderr, &stderr)
		return code, stderr.String()
	}
	if code, text := start(); code != 0 {
		t.Fatalf("the first run: exit code %d, %s", code, text)
	}
	before := contents(t, "data")
	for _, c := range []struct{ args, want string }{
		{"--id 1 --cluster 1=" + peer + ",2=127.0.0.1:2,3=127.0.0.1:3",
			"--cluster lists 1=" + peer +
				",2=127.0.0.1:2,3=127.0.0.1:3, but data belongs to a cluster of node 1 alone"},
		{"--id 2 --cluster 2=" + peer, "--id 2, but data is the data directory of node 1"},
		{"--id 1 --cluster 2=" + peer + ",3=127.0.0.1:3", "--id 1: is not in --cluster, which lists 2, 3"},
	} {
		code, text := start(strings.Fields(c.args)...)
		if code != exitConfig || !strings.Contains(text, c.want) || strings.Count(text, "\n") != 1 {
			t.Errorf("%s: exit code %d, %s", c.args, code, text)
		}
		if contents(t, "data") != before {
			t.Errorf("%s: has changed the data directory", c.args)
		}
	}
	if code, text := start("--id", "1", "--cluster", "1="+peer); code != 0 {
		t.Errorf("the same node with its own list: exit code %d, %s", code, text)
	}
}

func endWhenReady(ctx context.Context, end func(), url string) {
	for ctx.Err() == nil {
		if rsp, err := http.Get(url); err == nil {
			rsp.Body.Close()
			if rsp.StatusCode == http.StatusOK {
				end()
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func contents(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(f + "\n" + string(b))
	}
	return all.String()
}
