package compat

import (
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tenure/jepsen/cluster"
)

//go:embed browser/attack.html
var attackPage string

// secretValue is what no page may learn.
const secretValue = "the secret"

// pagesTake bounds how long the browser may take for a page, on a machine with much else to do.
const pagesTake = 3 * time.Minute

// TestBrowsers opens hostile pages in a real Chromium. Pages of other origins try everything that a page can do to read
// and change a node on loopback; one has its own name rebound to the node's address. None may learn anything, not even
// whether a key is there, and the store must be the same after it. A page of the node's own origin reads and writes.
//
// It is skipped where there is no Chromium: apt-get install chromium.
func TestBrowsers(t *testing.T) {
	program := chromium(t)
	n := start(t, "--lease-time", "5s").Node(1) // a busy browser costs no master its mastership
	fill(t, n)
	before := state(t, n)
	for _, page := range []struct {
		name string
		open func(t *testing.T, report string) (address string)
	}{
		{"another origin", func(t *testing.T, report string) string { return elsewhere(t, "http://"+n.Client, report) }},
		{"another origin, by localhost", func(t *testing.T, report string) string {
			_, port, _ := net.SplitHostPort(n.Client)
			return elsewhere(t, "http://localhost:"+port, report)
		}},
		{"a file", func(t *testing.T, report string) string {
			name := filepath.Join(t.TempDir(), "page.html")
			must(t, os.WriteFile(name, []byte(pageFor("http://"+n.Client, report)), 0o644))
			return "file://" + name
		}},
		{"a rebound name", func(t *testing.T, report string) string { return rebound(t, n, report) }},
	} {
		t.Run(page.name, func(t *testing.T) {
			report, learned := collector(t)
			runBrowser(t, program, page.open(t, report), func(ctx context.Context) {
				select {
				case got := <-learned:
					for attempt, what := range got {
						if what != "" {
							t.Errorf("%s: %s", attempt, what)
						}
					}
					if len(got) < 35 {
						t.Errorf("%d attempts only: %v", len(got), got)
					}
				case <-ctx.Done():
					t.Error("the page does not report")
				}
			})
			if after := state(t, n); after != before {
				t.Errorf("the store was\n%s\nand is\n%s", before, after)
			}
		})
	}
	t.Run("its own origin", func(t *testing.T) { ownOrigin(t, program, n) })
}

// chromium returns the program.
func chromium(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no Chromium: apt-get install chromium")
	return ""
}

// runBrowser shows an address until use returns.
func runBrowser(t *testing.T, program, address string, use func(context.Context)) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	must(t, err)
	profile, err := os.MkdirTemp("", "tenure-browser-") // not t.TempDir: the browser's last processes may still write
	must(t, err)
	defer os.RemoveAll(profile)
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--user-data-dir="+profile, "--remote-debugging-port=0",
		"--host-resolver-rules=MAP evil.example 127.0.0.2, MAP page.example 127.0.0.1", address)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, cmd.Start())
	ctx, cancel := context.WithTimeout(t.Context(), pagesTake)
	defer cancel()
	use(ctx)
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the group is the browser's own
	_ = cmd.Wait()
	if text, _ := os.ReadFile(log.Name()); t.Failed() {
		t.Logf("the browser: %s", text[max(0, len(text)-2<<10):])
	}
}

func pageFor(target, report string) string {
	return strings.NewReplacer(`"TARGET"`, fmt.Sprintf("%q", target), `"REPORT"`, fmt.Sprintf("%q", report)).Replace(attackPage)
}

// collector returns where a page reports what it has learned, by attempt.
func collector(t *testing.T) (address string, learned <-chan map[string]string) {
	got := make(chan map[string]string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m map[string]string
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		select {
		case got <- m:
		default:
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

// elsewhere serves the page under another name and port.
func elsewhere(t *testing.T, target, report string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, pageFor(target, report))
	}))
	t.Cleanup(s.Close)
	return strings.Replace(s.URL, "127.0.0.1", "page.example", 1) + "/"
}

// rebound serves the page under a name, with the port of the node. All later connections to that name are the node's,
// as they are when a name's address changes. The browser takes both for one origin.
func rebound(t *testing.T, n *cluster.Node, report string) string {
	_, port, err := net.SplitHostPort(n.Client)
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.2:"+port)
	must(t, err)
	t.Cleanup(func() { l.Close() })
	page := pageFor("", report)
	var shown atomic.Bool
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer in.Close()
				if shown.Load() {
					pipe(in, n.Client)
					return
				}
				request := make([]byte, 4<<10)
				if k, _ := in.Read(request); strings.HasPrefix(string(request[:k]), "GET /page ") { // browsers dial ahead
					shown.Store(true)
					fmt.Fprintf(in, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
						len(page), page)
				}
			}()
		}
	}()
	return "http://evil.example:" + port + "/page"
}

// pipe joins a connection with a new one to an address.
func pipe(in net.Conn, address string) {
	out, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer out.Close()
	go func() { _, _ = io.Copy(out, in) }()
	_, _ = io.Copy(in, out)
}

// ownOrigin shows a page by a proxy before the node, as somebody may have who serves pages of their own beside it.
func ownOrigin(t *testing.T, program string, n *cluster.Node) {
	to, err := url.Parse("http://" + n.Client)
	must(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
	}}
	report, learned := collector(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/page" {
			proxy.ServeHTTP(w, r)
			return
		}
		fmt.Fprintf(w, `<!doctype html><script>(async () => {
			const did = {};
			did.put = await (await fetch("/v1/kv/own", {method: "PUT", body: "1"})).text();
			did.get = await (await fetch("/v1/kv/own?raw")).text();
			did.post = await (await fetch("/v1/lease/own/acquire", {method: "POST", body: '{"owner":"page","ttl":"5s"}'})).status + "";
			did.event = await new Promise(done => {
				const e = new EventSource("/v1/watch?prefix=own");
				e.addEventListener("set", m => { e.close(); done(JSON.parse(m.data).Key); });
				e.onopen = () => fetch("/v1/kv/own", {method: "PUT", body: "2"}); // what comes before is in no watch
			});
			did.delete = await (await fetch("/v1/kv/own", {method: "DELETE"})).text();
			await fetch(%q, {method: "POST", mode: "no-cors", body: JSON.stringify(did)});
		})()</script>`, report)
	}))
	t.Cleanup(s.Close)
	runBrowser(t, program, s.URL+"/page", func(ctx context.Context) {
		select {
		case did := <-learned:
			for what, want := range map[string]string{"put": "true", "get": "1", "post": "200", "event": "own", "delete": "true"} {
				if did[what] != want {
					t.Errorf("%s: %q, want %q", what, did[what], want)
				}
			}
		case <-ctx.Done():
			t.Error("the page does not report")
		}
	})
}

// fill writes what the pages are after.
func fill(t *testing.T, n *cluster.Node) {
	t.Helper()
	picture, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	must(t, err)
	for key, value := range map[string]string{"present": "/* " + secretValue + " */ 1", "picture": string(picture)} {
		req, err := http.NewRequest(http.MethodPut, "http://"+n.Client+"/v1/kv/"+key, strings.NewReader(value))
		must(t, err)
		rsp, err := http.DefaultClient.Do(req)
		must(t, err)
		rsp.Body.Close()
		if rsp.StatusCode != http.StatusOK {
			t.Fatalf("PUT %s: %s", key, rsp.Status)
		}
	}
}

// state returns all that a page could have changed.
func state(t *testing.T, n *cluster.Node) string {
	t.Helper()
	var all []string
	for _, path := range []string{"/v1/kv/?recurse", "/v1/session/list", "/v1/leases", "/v1/catalog/nodes", "/v1/quota"} {
		rsp, err := http.Get("http://" + n.Client + path)
		must(t, err)
		text, err := io.ReadAll(rsp.Body)
		must(t, err)
		rsp.Body.Close()
		all = append(all, fmt.Sprintf("%s %d, revision %s: %s", path, rsp.StatusCode, rsp.Header.Get("X-Consul-Index"), text))
	}
	return strings.Join(all, "\n")
}
