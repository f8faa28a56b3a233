package dev

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenure/client"
	"tenure/client/clienttest"
	"tenure/internal/devcluster"
)

// The first token is made when the cluster is ready. Its secret is in a file that only its owner reads, and not on the
// screen.
func TestTokensOfADevCluster(t *testing.T) {
	o := options(t, sound, 1)
	o.ACL = true
	r := begin(t, o)
	r.await(t, "Ctrl-C stops all nodes")
	file := filepath.Join(o.Data, "root-token")
	contains(t, r.now(), "export TENURE_HTTP_TOKEN_FILE="+file, "ready after")
	if strings.Contains(r.now(), "without a token") {
		t.Error(r.now())
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	n := r.state().Nodes[0]
	c, err := client.New(client.Config{Endpoints: []string{n.Client}, TokenFile: n.Token, NoLearning: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if x, _, err := c.ACL().Self(t.Context(), client.ReadOptions{}); err != nil || len(x.Policies) != 1 {
		t.Errorf("%+v, %v", x, err)
	}
	secret, err := os.ReadFile(file)
	if err != nil || strings.Contains(r.now(), strings.TrimSpace(string(secret))) {
		t.Errorf("the secret is shown: %v", err)
	}
	r.stop()
	if err := r.ended(); err != nil {
		t.Fatal(err)
	}
}

// A cluster that was bootstrapped in an earlier run is left as it is, and one whose first token is another is told.
func TestBootstrapInALaterRun(t *testing.T) {
	cluster := clienttest.Start(1)
	t.Cleanup(cluster.Close)
	cluster.RequireTokens()
	cfg := client.Config{Endpoints: cluster.Endpoints(), NoLearning: true}
	first, second := devcluster.TokenFile(t.TempDir()), devcluster.TokenFile(t.TempDir())
	for _, file := range []string{first, second} {
		if err := devcluster.MakeToken(file); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := bootstrap(t.Context(), cfg, first); err != nil {
			t.Error(err)
		}
	}
	if err := bootstrap(t.Context(), cfg, second); err == nil || !strings.Contains(err.Error(), "another first token") {
		t.Error(err)
	}
}
