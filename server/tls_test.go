package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/api"
	"tenure/internal/certs"
	"tenure/internal/certs/certstest"
	"tenure/server/audit"
)

// TestBeyondLoopback: a port that others can reach is opened only if peers must show a certificate and clients a token over
// TLS, or with --insecure.
func TestBeyondLoopback(t *testing.T) {
	files := certs.Paths{Cert: "c", Key: "k", CA: "a"}
	for _, c := range []struct {
		change func(*Config)
		want   string // "": accepted
	}{
		{func(c *Config) {}, ""},
		{func(c *Config) { c.ClientAddr = "0.0.0.0:1" }, "--tls-cert, --tls-key and --acl"},
		{func(c *Config) { c.PeerAddr = "10.0.0.1:1" }, "--peer 10.0.0.1:1 is not a loopback address"},
		{func(c *Config) { c.ClientAddr, c.TLS.Clients = "0.0.0.0:1", files }, "--client 0.0.0.0:1 is not a loopback address"},
		{func(c *Config) { c.ClientAddr, c.ACL = "0.0.0.0:1", true }, "--client 0.0.0.0:1 is not a loopback address"},
		{func(c *Config) {
			c.ClientAddr, c.TLS = "0.0.0.0:1", TLS{Clients: files, ClientCA: "a", ClientCertRequired: true}
		}, "--client 0.0.0.0:1 is not a loopback address"},
		{func(c *Config) { c.ClientAddr, c.TLS.Clients, c.ACL = "0.0.0.0:1", files, true }, ""},
		{func(c *Config) { c.PeerAddr, c.TLS.Clients, c.ACL = "10.0.0.1:1", files, true }, "--peer 10.0.0.1:1"},
		{func(c *Config) { c.RedisAddr, c.ACL = "127.0.0.1:6379", true }, ""},
		{func(c *Config) { c.RedisAddr, c.ACL = "10.0.0.1:1", true }, "--redis 10.0.0.1:1 is not a loopback address"},
		{func(c *Config) { c.RedisAddr, c.TLS.Clients = "10.0.0.1:1", files }, "give --tls-cert, --tls-key and --acl"},
		{func(c *Config) { c.RedisAddr, c.TLS.Clients, c.ACL = "10.0.0.1:1", files, true }, ""},
		{func(c *Config) { c.Audit.Path = "a" }, "--audit"},
		{func(c *Config) { c.Audit = audit.Config{Path: "a", FileBytes: 1 << 20} }, ""},
		{func(c *Config) { c.PeerAddr, c.TLS.Clients = "10.0.0.1:1", files }, "--peer 10.0.0.1:1"},
		{func(c *Config) { c.ClientAddr, c.TLS.Peers = "10.0.0.1:1", files }, "--client 10.0.0.1:1"},
		{func(c *Config) { c.PeerAddr, c.TLS.Peers = "10.0.0.1:1", files }, ""},
		{func(c *Config) { c.AdminAddr, c.TLS = "10.0.0.1:1", TLS{Clients: files, Peers: files} }, "the profiler has no TLS"},
		{func(c *Config) { c.ClientAddr, c.PeerAddr, c.AdminAddr, c.Insecure = ":1", ":2", ":3", true }, ""},
		{func(c *Config) { c.HealthAddr = "0.0.0.0:1" }, ""},
		{func(c *Config) { c.HealthAddr = ":1" }, "--health \":1\" is not host:port: give 127.0.0.1"},
		{func(c *Config) { c.HealthAddr = "1" }, "--health \"1\" is not host:port"},
		{func(c *Config) { c.TLS.Clients.Cert = "c" }, "--tls-cert and --tls-key go together"},
		{func(c *Config) { c.TLS.Peers = certs.Paths{CA: "a"} }, "needs a certificate, its key and the authorities"},
		{func(c *Config) { c.TLS.ClientCA = "a" }, "need --tls-cert and --tls-key"},
		{func(c *Config) { c.TLS = TLS{Clients: files, ClientCertRequired: true} }, "needs --tls-client-ca"},
	} {
		cfg := Config{Node: 1, Data: "d", ClientAddr: "127.0.0.1:1", PeerAddr: "127.0.0.1:2", LeaseTime: time.Second,
			MaxLeaseTime: time.Second, ClockDriftPPM: 10_000, LeaseMargin: 10 * time.Millisecond}
		c.change(&cfg)
		err := cfg.Validate()
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("want %q: %v", c.want, err)
		}
	}
}

// overTLS gives the nodes of a cluster certificates of a new authority, and a way to have their files read again. Clients
// need a certificate too.
func overTLS(t *testing.T) (ca *certstest.CA, configure func(*Config), reload func()) {
	ca = certstest.New(t, "prod")
	var all []chan func()
	return ca, func(c *Config) {
			p, again := ca.Node(t, fmt.Sprintf("n%d", c.Node)), make(chan func())
			all = append(all, again)
			c.TLS = TLS{Clients: certs.Paths{Cert: p.Cert, Key: p.Key}, Peers: p, ClientCA: ca.Bundle, ClientCertRequired: true}
			c.Reload = again
		}, func() {
			for _, again := range all {
				read := make(chan struct{})
				again <- func() { close(read) }
				<-read
			}
		}
}

// requests makes requests over TLS, each on a connection of its own, with what is in the files then.
type requests struct {
	files certs.Paths
	mu    sync.RWMutex // held for writing while the files are replaced
}

func (r *requests) do(method, addr, path, body string) (int, string, error) {
	r.mu.RLock()
	pair, err := tls.LoadX509KeyPair(r.files.Cert, r.files.Key)
	text, err2 := os.ReadFile(r.files.CA)
	r.mu.RUnlock()
	if err = errors.Join(err, err2); err != nil {
		return 0, "", err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	c := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}}}}
	req, err := http.NewRequest(method, "https://"+addr+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	rsp, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer rsp.Body.Close()
	answer, err := io.ReadAll(rsp.Body)
	return rsp.StatusCode, string(answer), err
}

// TestRotationUnderLoad renews the authority and all certificates, of nodes and clients, while requests run on new
// connections and on old ones: none is refused, and the nodes go on with each other.
func TestRotationUnderLoad(t *testing.T) {
	ca, configure, reload := overTLS(t)
	r := &requests{files: ca.Client(t, "c")}
	hosts := startTLS(t, r, 3, configure)
	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	var done atomic.Int64
	for i, h := range hosts {
		load.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				code, text, err := r.do(http.MethodPut, h.cfg.ClientAddr, fmt.Sprintf("/v1/kv/k%d", i), fmt.Sprint(n))
				if err != nil || code != http.StatusOK {
					t.Errorf("node %d, request %d: %d %q, %v", i+1, n, code, text, err)
					return
				}
				done.Add(1)
			}
		})
	}
	some := func() { // requests were made with what is in the files now
		for from, end := done.Load(), time.Now().Add(20*time.Second); done.Load() < from+20; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("nothing is done any more")
			}
		}
	}
	change := func(f func() error) {
		t.Helper()
		some()
		r.mu.Lock()
		err := f()
		r.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		reload()
		some()
	}
	change(func() error { _, err := ca.RenewAuthority(certs.AuthorityValidity, time.Now()); return err })
	change(func() error {
		for _, cert := range []string{hosts[0].cfg.TLS.Peers.Cert, hosts[1].cfg.TLS.Peers.Cert, hosts[2].cfg.TLS.Peers.Cert,
			r.files.Cert} {
			if _, err := ca.Renew(cert, 0, time.Now()); err != nil {
				return err
			}
		}
		return nil
	})
	change(func() error { _, err := ca.Retire(time.Now()); return err })
	stop()
	load.Wait()
	_, text, err := r.do(http.MethodGet, hosts[0].cfg.ClientAddr, "/metrics", "")
	for _, want := range []string{"tenure_tls_reloads_total ", "tenure_tls_reload_failures_total 0\n", "tenure_tls_expiry_timestamp_seconds{file="} {
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("the metrics lack %q: %v", want, err)
		}
	}
	if strings.Contains(text, "tenure_tls_reloads_total 0\n") {
		t.Error("no files were read again")
	}
}

// startTLS is startCluster for nodes that speak TLS.
func startTLS(t *testing.T, r *requests, size int, configure func(*Config)) []*host {
	t.Helper()
	hosts := makeCluster(t, size, configure)
	for _, h := range hosts {
		h.start(t)
	}
	for _, h := range hosts {
		h.until(t, "ready", func() bool {
			code, _, _ := r.do(http.MethodGet, h.cfg.ClientAddr, "/health/ready", "")
			return code == http.StatusOK
		})
	}
	return hosts
}

// TestANodeNeedsItsOwnCertificate: one that is another's ends the node before it serves, with what to do.
func TestANodeNeedsItsOwnCertificate(t *testing.T) {
	ca, configure, _ := overTLS(t)
	r := &requests{files: ca.Client(t, "c")}
	h := startTLS(t, r, 1, configure)[0]
	h.stop(t)
	var log bytes.Buffer
	cfg := h.cfg
	cfg.Logger, cfg.Reload = zerolog.New(&log), nil
	for want, p := range map[string]certs.Paths{
		"is that of tenure://prod/node/other, and the members know this node as n1": ca.Node(t, "other"),
		"a node needs one of role node":                                             ca.Client(t, "n1"),
		"no such file":                                                              {Cert: "/none", Key: "/none", CA: ca.Bundle},
	} {
		cfg.TLS = TLS{Peers: p}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := Run(ctx, cfg); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

// TestARefusedNodeIsSeenAtItsStatus: a node with the certificate of another authority serves clients, and is no part of
// the cluster. It says so itself, and so do those that refuse it.
func TestARefusedNodeIsSeenAtItsStatus(t *testing.T) {
	t.Parallel()
	ca, configure, _ := overTLS(t)
	r := &requests{files: ca.Client(t, "c")}
	hosts := startTLS(t, r, 3, configure)
	status := func(h *host) (s api.Status) {
		_, text, _ := r.do(http.MethodGet, h.cfg.ClientAddr, api.PathStatus, "")
		_ = json.Unmarshal([]byte(text), &s) // it is asked again
		return s
	}
	one, three := hosts[0], hosts[2]
	if s := status(three); s.Problem != "" {
		t.Errorf("while all is well: %q", s.Problem)
	}
	three.stop(t)
	three.cfg.TLS.Peers = certstest.New(t, "prod").Node(t, "n3")
	three.start(t)
	three.until(t, "one that says that it is cut off", func() bool {
		return strings.Contains(status(three).Problem, "this node hears no majority of the voters: node 1: ")
	})
	one.until(t, "one that says why", func() bool {
		i := slices.IndexFunc(status(one).Peers, func(p api.PeerStatus) bool { return p.Node == 3 })
		return i >= 0 && strings.Contains(status(one).Peers[i].Problem, "none of the authorities")
	})
	if s := status(one); s.Problem != "" {
		t.Errorf("a node that works: %q", s.Problem)
	}
}

// TestARunningNodeKeepsItsName: files of another node, of another cluster and of a client change nothing while it runs,
// and a renewed certificate of its own does.
func TestARunningNodeKeepsItsName(t *testing.T) {
	ca, test := certstest.New(t, "prod"), certstest.New(t, "test")
	p := ca.Node(t, "n1")
	s, err := Config{TLS: TLS{Peers: p}}.openTLS()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from certs.Paths
		want string // "": taken
	}{
		{ca.Node(t, "n2"), "it is that of tenure://prod/node/n2, and this node runs as tenure://prod/node/n1"},
		{test.Node(t, "n1"), "it is that of tenure://test/node/n1"},
		{ca.Client(t, "n1"), "a node needs one of role node"},
		{ca.Node(t, "n1"), ""},
	} {
		for to, from := range map[string]string{p.Cert: c.from.Cert, p.Key: c.from.Key} {
			text, err := os.ReadFile(from)
			if err == nil {
				err = os.WriteFile(to, text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		before := s.peers.Certificate()
		changed, err := s.peers.Reload()
		if c.want == "" && (err != nil || !changed) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("want %q: %v, %v", c.want, changed, err)
		}
		if changed == (s.peers.Certificate() == before) {
			t.Errorf("after %v another certificate is in use: %v", err, !changed)
		}
	}
}

// TestOnlyTheOwnerReadsTheData: nothing in a data directory is for others on the machine, whatever the umask.
func TestOnlyTheOwnerReadsTheData(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	h := startCluster(t, 1)[0]
	seen := 0
	err := filepath.WalkDir(h.cfg.Data, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		seen++
		return err
	})
	if err != nil || seen < 4 {
		t.Errorf("looked at %d files, %v", seen, err)
	}
}

// What has expired does not expire soon.
func TestExpiryText(t *testing.T) {
	at := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	e := certs.Expiry{What: "certificate", At: at}
	for _, c := range []struct {
		now  time.Time
		want string
	}{
		{at.Add(-time.Second), "TLS: this certificate expires soon: renew it with kvctl ca renew"},
		{at, "TLS: this certificate has expired at 2026-11-24T12:00:00Z: nobody takes it: renew it with kvctl ca renew"},
	} {
		if got := expiryText(e, c.now); got != c.want {
			t.Errorf("at %v: %s", c.now, got)
		}
	}
}
