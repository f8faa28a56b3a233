package compat

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
)

// consulTemplate is the version that is run, built as its authors publish it.
const consulTemplate = "github.com/hashicorp/consul-template@v0.41.1"

// renderWithin is how long a rendering may take from the change that it shows.
const renderWithin = time.Second

// TestConsulTemplate lets consul-template render all that it can of keys, changes them, and kills the master in
// between: each change must be in the file within renderWithin.
func TestConsulTemplate(t *testing.T) {
	c := start(t)
	_, others := roles(t, c)
	writer := dial(t, others[1]).KV()
	put := func(key, value string) {
		t.Helper()
		must(t, second(writer.Put(&api.KVPair{Key: key, Value: []byte(value)}, nil)))
	}
	put("app/name", "one")
	put("app/servers/a", "10.0.0.1")
	put("app/servers/b", "10.0.0.2")
	put("app/servers/deep/c", "10.0.0.3")
	file := render(t, others[0].Client, `key={{ key "app/name" }}
default={{ keyOrDefault "app/color" "blue" }}
exists={{ keyExists "app/flag" }}
{{ range ls "app/servers" }}ls={{ .Key }}:{{ .Value }}
{{ end }}{{ range tree "app/servers" }}tree={{ .Key }}:{{ .Value }}
{{ end }}`)
	began := time.Now()
	shows := func(within time.Duration, want string) {
		t.Helper()
		for {
			got, err := os.ReadFile(file)
			if err == nil && string(got) == want {
				break
			}
			if time.Since(began) > within {
				t.Fatalf("after %v the file holds %q, %v\nwant %q", within, got, err, want)
			}
			time.Sleep(5 * time.Millisecond)
		}
		t.Logf("rendered after %v", time.Since(began).Round(time.Millisecond))
	}
	page := func(name, color string, flag bool, servers string) string {
		return fmt.Sprintf("key=%s\ndefault=%s\nexists=%v\n%s", name, color, flag, servers)
	}
	servers := "ls=a:10.0.0.1\nls=b:10.0.0.2\ntree=a:10.0.0.1\ntree=b:10.0.0.2\ntree=deep/c:10.0.0.3\n"
	shows(soon, page("one", "blue", false, servers))

	change := func(act func(), want string) {
		t.Helper()
		began = time.Now()
		act()
		shows(renderWithin, want)
	}
	for i := range 3 {
		name := fmt.Sprintf("round %d", i)
		change(func() { put("app/name", name) }, page(name, "blue", false, servers))
		change(func() { put("app/color", "red") }, page(name, "red", false, servers))
		change(func() { must(t, second(writer.Delete("app/color", nil))) }, page(name, "blue", false, servers))
		change(func() { put("app/flag", "") }, page(name, "blue", true, servers))
		change(func() { must(t, second(writer.Delete("app/flag", nil))) }, page(name, "blue", false, servers))
		change(func() { put("app/servers/z", "10.0.0.9") }, page(name, "blue", false,
			strings.Replace(strings.Replace(servers, "\ntree=a", "\nls=z:10.0.0.9\ntree=a", 1), "c:10.0.0.3\n", "c:10.0.0.3\ntree=z:10.0.0.9\n", 1)))
		change(func() { must(t, second(writer.DeleteTree("app/servers/z", nil))) }, page(name, "blue", false, servers))
		victim := promote(t, c, others)
		name += ", without its master"
		change(func() { // the time runs from the kill
			must(t, victim.Kill())
			p := &api.KVPair{Key: "app/name", Value: []byte(name)}
			eventually(t, func() bool { return second(writer.Put(p, nil)) == nil })
		}, page(name, "blue", false, servers))
		must(t, victim.Start())
	}
}

// render runs consul-template on a template until the test ends, with these further flags, and is the file that it writes.
func render(t *testing.T, address, template string, flags ...string) string {
	t.Helper()
	install := exec.Command("go", "install", consulTemplate)
	install.Env = append(os.Environ(), "GOBIN="+programs)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("go install: %v\n%s", err, out)
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.ctmpl"), filepath.Join(dir, "out")
	must(t, os.WriteFile(in, []byte(template), 0o600))
	log, err := os.Create(filepath.Join(dir, "log"))
	must(t, err)
	cmd := exec.Command(program("consul-template"),
		append(flags, "-consul-addr", address, "-template", in+":"+out, "-log-level", "info")...)
	cmd.Stdout, cmd.Stderr = log, log
	must(t, cmd.Start())
	t.Cleanup(func() {
		force := time.AfterFunc(soon, func() { _ = cmd.Process.Kill() })
		_ = cmd.Process.Signal(os.Interrupt) // SIGTERM is not among the signals that it ends on
		_ = cmd.Wait()
		force.Stop()
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("consul-template:\n%s", text)
		}
	})
	return out
}
