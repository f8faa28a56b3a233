package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"tenure/internal/certs/certstest"
	"tenure/storage"
)

// TestValidate: a configuration is judged as at a start, with its files, and nothing is started or made.
func TestValidate(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("n.toml", []byte("data = \"d\"\nlease-time = \"1s\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ args, want string }{
		{"--config n.toml", ""},
		{"--config n.toml --id 7", "--id 7: a node without --cluster runs alone"},
		{"--config n.toml --tls-cert c.pem --tls-key k.pem", "c.pem"},
		{"--config n.toml extra", "is not a command of kvnode validate"},
	} {
		o := command(t, nil, nil, append([]string{"validate"}, strings.Fields(x.args)...)...)
		if o.config != nil {
			t.Errorf("%s: a node was started", x.args)
		}
		if x.want == "" && (o.code != 0 || o.stdout != "the configuration is valid\n" || o.stderr != "") ||
			x.want != "" && (o.code != exitConfig || o.stdout != "" || !strings.Contains(o.stderr, x.want)) {
			t.Errorf("%s: %+v", x.args, o)
		}
	}
	if _, err := os.Lstat("d"); !os.IsNotExist(err) {
		t.Errorf("the data directory: %v", err)
	}
}

// TestValidateTheFilesOfTLS: a start with a certificate in the place of the authority, or with the authority of another
// cluster, would leave a node that all others refuse.
func TestValidateTheFilesOfTLS(t *testing.T) {
	ca, other := certstest.New(t, "prod"), certstest.New(t, "prod")
	p := ca.Node(t, "n1")
	for _, x := range []struct{ ca, flags, want string }{
		{ca.Bundle, "", ""},
		{p.Cert, "", "has the certificate of tenure://prod/node/n1, which is no authority"},
		{other.Bundle, "", "has signed the certificate in " + p.Cert},
		{ca.Bundle, " --tls-client-ca " + other.Bundle, ""},
		{ca.Bundle, " --tls-client-ca " + p.Cert, "which is no authority"},
	} {
		args := fmt.Sprintf("validate --peer 127.0.0.1:9 --tls-cert %s --tls-key %s --tls-ca %s%s", p.Cert, p.Key, x.ca, x.flags)
		o := command(t, nil, nil, strings.Fields(args)...)
		if x.want == "" && (o.code != 0 || o.stderr != "") ||
			x.want != "" && (o.code != exitConfig || !strings.Contains(o.stderr, x.want) || strings.Count(o.stderr, "\n") != 1) {
			t.Errorf("%s: %+v", args, o)
		}
	}
}

// TestValidateBesideANodeThatRuns: nothing of the data directory is read, or locked.
func TestValidateBesideANodeThatRuns(t *testing.T) {
	dir := t.TempDir()
	s, err := storage.Open(dir, storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, args := range []string{"--data " + dir, "--join 127.0.0.1:7 --data " + dir} {
		o := command(t, nil, nil, append([]string{"validate"}, strings.Fields(args)...)...)
		if o.code != 0 || o.stderr != "" {
			t.Errorf("%s: %+v", args, o)
		}
	}
}
