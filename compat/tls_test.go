package compat

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"tenure/jepsen/cluster"
)

// overTLS is a cluster whose clients must show certificates, with the files for them.
type overTLS struct {
	*cluster.Cluster
	ca, cert, key string
	caDir         string // with the authority, and nothing else
}

func startTLS(t *testing.T, flags ...string) overTLS {
	t.Helper()
	return certified(t, startWith(t, cluster.Config{TLS: true, Flags: flags}))
}

// certified adds to a cluster with TLS the files for its clients.
func certified(t *testing.T, of *cluster.Cluster) overTLS {
	t.Helper()
	c := overTLS{Cluster: of, caDir: t.TempDir()}
	own := c.TLS()
	c.ca, c.cert, c.key = own.CAFile, own.CertFile, own.KeyFile
	must(t, os.WriteFile(filepath.Join(c.caDir, "ca.pem"), []byte(text(t, c.ca)), 0o600))
	return c
}

func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	must(t, err)
	return string(b)
}

// dial is a client of hashicorp/consul/api of node n.
func (c *overTLS) dial(t *testing.T, n *cluster.Node) *api.Client {
	t.Helper()
	return c.dialWith(t, n, "")
}

// dialWith is dial with a token.
func (c *overTLS) dialWith(t *testing.T, n *cluster.Node, secret string) *api.Client {
	t.Helper()
	client, err := api.NewClient(&api.Config{Address: n.Client, Scheme: "https", Token: secret,
		TLSConfig: api.TLSConfig{CAFile: c.ca, CertFile: c.cert, KeyFile: c.key}})
	must(t, err)
	return client
}

// TestConsulAPIOverTLS uses the library as TestConsulAPI does, through nodes that want certificates.
func TestConsulAPIOverTLS(t *testing.T) {
	c := startTLS(t, "--session-ttl-min", "500ms")
	var nodes []*api.Client
	for _, n := range c.Nodes() {
		nodes = append(nodes, c.dial(t, n))
	}
	t.Run("keys", func(t *testing.T) { keys(t, nodes) })
	t.Run("conditions", func(t *testing.T) { conditions(t, nodes) })
	t.Run("sessions", func(t *testing.T) { sessions(t, nodes) })
	t.Run("transactions", func(t *testing.T) { transactions(t, nodes) })
	t.Run("blocking queries", func(t *testing.T) { blocking(t, nodes) })
	t.Run("status", func(t *testing.T) { status(t, nodes) })
}

// TestConsulTLSSettings tries each way to tell the library about certificates: files, a directory, texts, the
// environment.
func TestConsulTLSSettings(t *testing.T) {
	c := startTLS(t)
	n := c.Node(2)
	_, port, err := net.SplitHostPort(n.Client)
	must(t, err)
	asLocalhost := "localhost:" + port // for which the certificate is not
	files := api.TLSConfig{CAFile: c.ca, CertFile: c.cert, KeyFile: c.key}
	environ := map[string]string{"CONSUL_HTTP_ADDR": n.Client, "CONSUL_HTTP_SSL": "true", "CONSUL_CACERT": c.ca,
		"CONSUL_CLIENT_CERT": c.cert, "CONSUL_CLIENT_KEY": c.key}
	for _, x := range []struct {
		what, address, scheme string
		tls                   api.TLSConfig
		environ               map[string]string // beside environ, if it is not nil; "" takes out
		want                  string            // "": it works
	}{
		{what: "files", address: n.Client, scheme: "https", tls: files},
		{what: "a directory", address: n.Client, scheme: "https", tls: api.TLSConfig{CAPath: c.caDir, CertFile: c.cert, KeyFile: c.key}},
		{what: "texts", address: n.Client, scheme: "https", tls: api.TLSConfig{CAPem: []byte(text(t, c.ca)),
			CertPEM: []byte(text(t, c.cert)), KeyPEM: []byte(text(t, c.key))}},
		{what: "a URL", address: "https://" + n.Client, tls: files},
		{what: "another host", address: asLocalhost, scheme: "https", tls: files, want: "wanted to match localhost"},
		{what: "the host of the certificate", address: asLocalhost, scheme: "https",
			tls: api.TLSConfig{Address: "127.0.0.1", CAFile: c.ca, CertFile: c.cert, KeyFile: c.key}},
		{what: "any certificate", address: asLocalhost, scheme: "https",
			tls: api.TLSConfig{InsecureSkipVerify: true, CertFile: c.cert, KeyFile: c.key}},
		{what: "no authority", address: n.Client, scheme: "https", tls: api.TLSConfig{CertFile: c.cert, KeyFile: c.key},
			want: "unknown authority"},
		{what: "no certificate", address: n.Client, scheme: "https", tls: api.TLSConfig{CAFile: c.ca}, want: "certificate required"},
		{what: "no TLS", address: n.Client, scheme: "http", want: "Client sent an HTTP request to an HTTPS server"},
		{what: "the environment", environ: map[string]string{}},
		{what: "the environment, a directory", environ: map[string]string{"CONSUL_CACERT": "", "CONSUL_CAPATH": c.caDir}},
		{what: "the environment, another host", environ: map[string]string{"CONSUL_HTTP_ADDR": asLocalhost,
			"CONSUL_TLS_SERVER_NAME": "127.0.0.1"}},
		{what: "the environment, any certificate", environ: map[string]string{"CONSUL_HTTP_ADDR": asLocalhost, "CONSUL_CACERT": "",
			"CONSUL_HTTP_SSL_VERIFY": "false"}},
		{what: "the environment, a URL", environ: map[string]string{"CONSUL_HTTP_ADDR": "https://" + n.Client, "CONSUL_HTTP_SSL": ""}},
		{what: "the environment, no TLS", environ: map[string]string{"CONSUL_HTTP_SSL": "false"},
			want: "Client sent an HTTP request to an HTTPS server"},
	} {
		t.Run(x.what, func(t *testing.T) {
			cfg := &api.Config{Address: x.address, Scheme: x.scheme, TLSConfig: x.tls}
			if x.environ != nil {
				for _, set := range []map[string]string{environ, x.environ} {
					for name, value := range set {
						t.Setenv(name, value)
					}
				}
				cfg = api.DefaultConfig()
			}
			err := roundTrip(cfg)
			if x.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%v, want %q", err, x.want)
			}
		})
	}
}

// roundTrip writes and reads a key.
func roundTrip(cfg *api.Config) error {
	client, err := api.NewClient(cfg)
	if err != nil {
		return err
	}
	if _, err := client.KV().Put(&api.KVPair{Key: "k", Value: []byte("v")}, nil); err != nil {
		return err
	}
	_, _, err = client.KV().Get("k", nil)
	return err
}

// TestConsulTemplateOverTLS renders a key and a change of it, with certificates on both sides and a token that allows to
// read it. Once the token is deleted the file stays as it is.
func TestConsulTemplateOverTLS(t *testing.T) {
	c := startGuarded(t)
	writer := c.root(t, c.Node(1)).KV()
	token := c.token(t, c.Node(3), "template", `key_prefix "app/" { policy = "read" }`)
	put := func(value string) {
		t.Helper()
		must(t, second(writer.Put(&api.KVPair{Key: "app/name", Value: []byte(value)}, nil)))
	}
	put("one")
	file := render(t, c.Node(2).Client, `key={{ key "app/name" }}`, "-consul-ssl", "-consul-ssl-ca-cert", c.ca,
		"-consul-ssl-cert", c.cert, "-consul-ssl-key", c.key, "-consul-ssl-verify", "-consul-token", token.SecretID)
	shows := func(within time.Duration, want string) {
		t.Helper()
		began := time.Now()
		for got := []byte(nil); string(got) != want; time.Sleep(5 * time.Millisecond) {
			if got, _ = os.ReadFile(file); time.Since(began) > within {
				t.Fatalf("after %v the file holds %q, want %q", within, got, want)
			}
		}
	}
	shows(soon, "key=one")
	put("two")
	shows(soon, "key=two")
	_, err := c.root(t, c.Node(3)).ACL().TokenDelete(token.AccessorID, nil)
	must(t, err)
	put("three")
	time.Sleep(2 * renderWithin) // it would be there, as before
	shows(soon, "key=two")
}
