package certs

import (
	"path/filepath"
	"strings"
	"testing"
)

// A node that took a certificate for an authority which is none, or whose own no authority of its file has signed,
// would start and be refused by all others.
func TestTheFilesOfANodeFitTogether(t *testing.T) {
	ours, others := authority(t, "prod"), authority(t, "prod")
	p := issue(t, ours, RoleNode, "n1", now)
	second := issue(t, ours, RoleNode, "n2", now)
	for what, c := range map[string]struct {
		ca    []byte
		words []string // of the refusal; none: taken
	}{
		"its authority":                 {bundle(ours), nil},
		"two authorities":               {bundle(others, ours), nil},
		"another authority":             {bundle(others), []string{"ca.pem has signed the certificate in ", "tenure://prod/node/n1", "kvctl ca node"}},
		"its own certificate":           {p.Cert, []string{"ca.pem has the certificate of tenure://prod/node/n1, which is no authority"}},
		"a node's beside the authority": {append(bundle(ours), second.Cert...), []string{"tenure://prod/node/n2, which is no authority"}},
	} {
		dir := t.TempDir()
		paths := Paths{write(t, filepath.Join(dir, "n1.pem"), p.Cert), write(t, filepath.Join(dir, "n1-key.pem"), p.Key),
			write(t, filepath.Join(dir, "ca.pem"), c.ca)}
		_, err := LoadNode(paths, CheckNode)
		if (err == nil) != (c.words == nil) {
			t.Errorf("%s: %v", what, err)
		}
		for _, w := range c.words {
			if err != nil && (!strings.Contains(err.Error(), w) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("%s: %v, want %q", what, err, w)
			}
		}
		if _, err := LoadNode(Paths{CA: paths.CA}, nil); (err == nil) != (c.words == nil || what == "another authority") {
			t.Errorf("%s, without a certificate: %v", what, err)
		}
	}
}

// An expired certificate is not one of another authority: the node says so when it runs, and others refuse it.
func TestAnExpiredCertificateWasSigned(t *testing.T) {
	ours := authority(t, "prod")
	p := issue(t, ours, RoleNode, "n1", now.AddDate(-3, 0, 0))
	dir := t.TempDir()
	if _, err := LoadNode(Paths{write(t, filepath.Join(dir, "n1.pem"), p.Cert), write(t, filepath.Join(dir, "n1-key.pem"), p.Key),
		write(t, filepath.Join(dir, "ca.pem"), bundle(ours))}, CheckNode); err != nil {
		t.Error(err)
	}
}

// Files that fit and are changed into ones that do not change nothing.
func TestFilesOfANodeStayWhenTheNewOnesDoNotFit(t *testing.T) {
	ours, others := authority(t, "prod"), authority(t, "prod")
	dir := t.TempDir()
	p := issue(t, ours, RoleNode, "n1", now)
	f, err := LoadNode(Paths{write(t, filepath.Join(dir, "n1.pem"), p.Cert), write(t, filepath.Join(dir, "n1-key.pem"), p.Key),
		write(t, filepath.Join(dir, "ca.pem"), bundle(ours))}, CheckNode)
	if err != nil {
		t.Fatal(err)
	}
	pool := f.Pool()
	write(t, f.paths.CA, bundle(others))
	if changed, err := f.Reload(); err == nil || changed || f.Pool() != pool {
		t.Errorf("%v, %v", changed, err)
	}
}
