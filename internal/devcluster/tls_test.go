package devcluster

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tenure/internal/certs"
)

// TestFilesOfTLSAreMadeOnce: each node has its own certificate, of one authority, and keeps it.
func TestFilesOfTLSAreMadeOnce(t *testing.T) {
	dir := t.TempDir()
	nodes := []Node{{Data: "a"}, {Data: "b"}}
	for i := range nodes {
		nodes[i].Plan(dir, []string{"node-1", "node-2"}[i])
		if err := nodes[i].MakeFiles(); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(nodes[0].Cert)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		if err := n.MakeFiles(); err != nil {
			t.Fatal(err)
		}
		f, err := certs.Load(certs.Paths{Cert: n.Cert, Key: certs.KeyOf(n.Cert), CA: n.CA}, certs.CheckNode)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]string{"a": "node-1", "b": "node-2"}[n.Data]; f.Identity().Name != want {
			t.Errorf("%s has the certificate of %s", n.Data, f.Identity())
		}
		if !slices.Contains(n.OwnArgs(nil), "--tls-ca") {
			t.Errorf("it is started with %v", n.OwnArgs(nil))
		}
	}
	if after, err := os.ReadFile(nodes[0].Cert); err != nil || string(after) != string(before) {
		t.Errorf("a certificate was made anew: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, TLSDir, "client-dev-key.pem")); err != nil {
		t.Error(err)
	}
	if plain := (&Node{Data: "c"}).OwnArgs(nil); slices.Contains(plain, "--tls-ca") {
		t.Errorf("without TLS: %v", plain)
	}
}
