// Package certstest makes certificates for tests.
package certstest

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tenure/internal/certs"
)

// CA is an authority in a directory of a test.
type CA struct {
	*certs.Dir
	Path   string
	Bundle string // the file with the authority
}

// New makes an authority for the cluster of that name.
func New(t testing.TB, cluster string) *CA {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca")
	d, err := certs.Init(path, cluster, time.Now(), certs.AuthorityValidity)
	if err != nil {
		t.Fatal(err)
	}
	return &CA{Dir: d, Path: path, Bundle: filepath.Join(path, certs.BundleName)}
}

// Node returns the files of a node on loopback, valid from now on.
func (c *CA) Node(t testing.TB, name string) certs.Paths {
	return c.At(t, certs.RoleNode, name, time.Now())
}

// Client returns the files of a client.
func (c *CA) Client(t testing.TB, name string) certs.Paths {
	return c.At(t, certs.RoleClient, name, time.Now())
}

// At returns the files of a node or client whose certificate was made at a time and is valid for a day. Each call makes
// another directory for them.
func (c *CA) At(t testing.TB, role certs.Role, name string, at time.Time) certs.Paths {
	t.Helper()
	r := certs.Request{Identity: certs.Identity{Role: role, Name: name}, Validity: 24 * time.Hour}
	if role == certs.RoleNode {
		r.Hosts = []string{"127.0.0.1", "localhost"}
	}
	w, err := c.Issue(r, t.TempDir(), at)
	if err != nil {
		t.Fatal(err)
	}
	return certs.Paths{Cert: w.Cert, Key: w.Key, CA: c.Bundle}
}

// Trust makes a file of the authorities of others beside that of c, and returns p with it.
func (c *CA) Trust(t testing.TB, p certs.Paths, others ...*CA) certs.Paths {
	t.Helper()
	var all []byte
	for _, a := range append(others, c) {
		b, err := os.ReadFile(a.Bundle)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	p.CA = filepath.Join(t.TempDir(), "trusted.pem")
	if err := os.WriteFile(p.CA, all, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// Load returns the files of p.
func Load(t testing.TB, p certs.Paths) *certs.Files {
	t.Helper()
	f, err := certs.Load(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Pool returns the authorities of c.
func (c *CA) Pool(t testing.TB) *x509.CertPool {
	t.Helper()
	return Load(t, certs.Paths{CA: c.Bundle}).Pool()
}

// Revoked writes the list of revoked certificates of c anew, with those in the files of p beside those that are on it,
// and returns its file.
func (c *CA) Revoked(t testing.TB, p ...certs.Paths) string {
	t.Helper()
	var files []string
	for _, one := range p {
		files = append(files, one.Cert)
	}
	list, _, err := c.Revoke(files, certs.ListValidity, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return list.File
}
