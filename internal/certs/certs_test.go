package certs

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// authority returns a new authority of a cluster.
func authority(t *testing.T, cluster string) *Authority {
	t.Helper()
	p, err := NewAuthority(cluster, now, AuthorityValidity)
	if err != nil {
		t.Fatal(err)
	}
	key, err := parseKey("key", p.Key)
	if err != nil {
		t.Fatal(err)
	}
	return &Authority{Certificate: p.Leaf, Key: key}
}

// issue returns a certificate of a, made at time at.
func issue(t *testing.T, a *Authority, role Role, name string, at time.Time) Pair {
	t.Helper()
	id, err := IdentityOf(a.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	r := Request{Identity: Identity{id.Cluster, role, name}, Validity: LeafValidity}
	if role == RoleNode {
		r.Hosts = []string{"127.0.0.1", "localhost"}
	}
	p, err := a.Issue(r, at)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func write(t *testing.T, name string, b []byte) string {
	t.Helper()
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func bundle(as ...*Authority) (b []byte) {
	for _, a := range as {
		b = append(b, encodePEM(pemCertificate, a.Certificate.Raw)...)
	}
	return b
}

// files loads a pair and authorities from files of their own.
func files(t *testing.T, p Pair, as ...*Authority) *Files {
	t.Helper()
	dir := t.TempDir()
	f, err := Load(Paths{write(t, filepath.Join(dir, "c"), p.Cert), write(t, filepath.Join(dir, "k"), p.Key),
		write(t, filepath.Join(dir, "a"), bundle(as...))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestIdentityIsReadBack(t *testing.T) {
	for _, id := range []Identity{
		{"prod", RoleNode, "n1"}, {"a-1", RoleClient, "Deploy_2.x"}, {"prod", RoleAuthority, ""},
	} {
		c := &x509.Certificate{URIs: []*url.URL{{Scheme: "https", Host: "h"}, id.url()}}
		if got, err := IdentityOf(c); err != nil || got != id {
			t.Errorf("%v: read back as %v, %v", id, got, err)
		}
	}
}

// spelt returns a certificate with URIs that are spelt so, which crypto/x509 has read.
func spelt(t testing.TB, uris ...string) *x509.Certificate {
	t.Helper()
	key, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), ExtraExtensions: []pkix.Extension{alternatives(t, uris)}}
	made, err := sign(c, &x509.Certificate{}, key, key)
	if err != nil {
		t.Fatal(uris, err)
	}
	return made.Leaf
}

// alternatives returns the extension with URIs as alternative names.
func alternatives(t testing.TB, uris []string) pkix.Extension {
	t.Helper()
	var names []asn1.RawValue
	for _, s := range uris {
		names = append(names, asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: uriTag, Bytes: []byte(s)})
	}
	der, err := asn1.Marshal(names)
	if err != nil {
		t.Fatal(err)
	}
	return pkix.Extension{Id: subjectAltName, Value: der}
}

// FuzzSpelling: whatever a URI in a certificate is, it is an identity only if it is spelt as that identity is.
func FuzzSpelling(f *testing.F) {
	for _, s := range []string{"tenure://prod/node/n1", "tenure://prod/authority", "TENURE://prod/node/n1",
		"tenure://prod/node/n1#", "tenure://u@prod:1/node/n%31?x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := &x509.Certificate{Extensions: []pkix.Extension{alternatives(t, []string{s})}}
		id, err := IdentityOf(c)
		if err == nil && (id.String() != s || id.Validate() != nil) {
			t.Errorf("%q is read as %s", s, id)
		}
		if err != nil && ofScheme(s) && len(Names(c)) > 0 {
			t.Errorf("%q stands for %q", s, Names(c))
		}
		c.Extensions = []pkix.Extension{alternatives(t, []string{s, "tenure://prod/node/n1"})}
		if id, err := IdentityOf(c); err == nil && (ofScheme(s) || id.Name != "n1") {
			t.Errorf("beside %q: %s", s, id)
		}
	})
}

// TestOneSpelling: an identity that is spelt oddly is none, so that nobody reads it as another one.
func TestOneSpelling(t *testing.T) {
	for _, s := range []string{
		"tenure://prod/node/", "tenure://prod/node", "tenure://prod/", "tenure://prod/master/n1", "tenure://Prod/node/n1",
		"tenure://prod/node/../node/n1", "tenure://prod/node/n1/", "tenure://prod/node/n1?x=1", "tenure://prod/node/n1#x",
		"tenure://prod/node/n%31", "tenure://prod/node%2Fn1", "tenure://prod:1/node/n1", "tenure://u@prod/node/n1",
		"tenure:///node/n1", "tenure:prod/node/n1", "tenure://prod/node/.", "tenure://prod/node/a b", "tenure://prod/Node/n1",
		"tenure://-prod/node/n1", "tenure://prod/authority/n1", "tenure://prod//node/n1", "tenure://prod/node//n1",
		"TENURE://prod/node/n1", "Tenure://prod/node/n1", "tenure://prod/node/n1#", "tenure://prod/node/n1?",
		"tenure://prod:/node/n1", "tenure://@prod/node/n1", "tenure://:@prod/node/n1",
		"tenure://prod/node/n1;x", "tenure://prod/node/n1%00", "TENURE:prod/node/n1",
	} {
		c := spelt(t, s)
		if id, err := IdentityOf(c); err == nil {
			t.Errorf("%s is read as %s", s, id)
		}
		if n := Names(c); len(n) > 0 {
			t.Errorf("%s stands for %q", s, n)
		}
		if u := URIs(c); len(u) != 1 || u[0] != s {
			t.Errorf("%s is read as %q", s, u)
		}
	}
	c := spelt(t, "tenure://prod/node/n1", "spiffe://Prod/x#")
	if id, err := IdentityOf(c); err != nil || id != (Identity{"prod", RoleNode, "n1"}) || len(Names(c)) != 2 {
		t.Errorf("%v, %v, %q", id, err, Names(c))
	}
	c = spelt(t, "tenure://prod/node/n1", "TENURE://prod/node/n2", "spiffe://prod/x")
	if id, err := IdentityOf(c); err == nil || !slices.Equal(Names(c), []string{"spiffe://prod/x"}) {
		t.Errorf("one of two identities is taken: %s, %q", id, Names(c))
	}
	two := Identity{"prod", RoleNode, "n1"}
	if _, err := IdentityOf(&x509.Certificate{URIs: []*url.URL{two.url(), two.url()}}); err == nil {
		t.Error("two identities are taken for one")
	}
	if _, err := IdentityOf(&x509.Certificate{}); err == nil {
		t.Error("no identity is taken for one")
	}
}

// TestWhoIsAPeer has one case for each reason to refuse a certificate between nodes.
func TestWhoIsAPeer(t *testing.T) {
	ours, others, unknown := authority(t, "prod"), authority(t, "prod"), authority(t, "prod")
	test := authority(t, "test")
	f := files(t, issue(t, ours, RoleNode, "n1", now), ours, others, test)
	nameless, err := ours.Issue(Request{Identity: Identity{"prod", RoleNode, "n2"}, Hosts: []string{"h"},
		Validity: time.Hour}, now)
	if err != nil {
		t.Fatal(err)
	}
	nameless.Leaf.URIs, nameless.Leaf.Extensions = nil, nil
	for _, c := range []struct {
		what, want string // "": taken
		leaf       *x509.Certificate
		at         time.Time
	}{
		{"a node", "", issue(t, ours, RoleNode, "n2", now).Leaf, now},
		{"a node of another authority that is trusted", "", issue(t, others, RoleNode, "n2", now).Leaf, now},
		{"nobody", "it shows no certificate", nil, now},
		{"a client", "role client, and only nodes are peers", issue(t, ours, RoleClient, "deploy", now).Leaf, now},
		{"another cluster", "of cluster test, and this node's of cluster prod", issue(t, test, RoleNode, "n2", now).Leaf, now},
		{"an unknown authority", "none of the authorities that are known here", issue(t, unknown, RoleNode, "n2", now).Leaf, now},
		{"expired", "it expired on 2027-11-24 12:00 UTC", issue(t, ours, RoleNode, "n2", now).Leaf, now.Add(LeafValidity + 1)},
		{"not yet valid", "it is not valid before 2026-11-24 12:55 UTC",
			issue(t, ours, RoleNode, "n2", now.Add(time.Hour)).Leaf, now},
		{"the last moment", "", issue(t, ours, RoleNode, "n2", now).Leaf, now.Add(LeafValidity)},
		{"without a URI", "names no node", nameless.Leaf, now},
		{"an authority", "names no node", nil, now},
	} {
		chain := []*x509.Certificate{c.leaf}
		switch {
		case c.what == "an authority":
			chain = []*x509.Certificate{ours.Certificate}
			c.want = "role authority, and only nodes are peers"
		case c.leaf == nil:
			chain = nil
		}
		id, err := f.checkPeer(chain, c.at)
		switch {
		case c.want == "" && (err != nil || id != Identity{"prod", RoleNode, "n2"}):
			t.Errorf("%s: %v, %v", c.what, id, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, %v; want %q", c.what, id, err, c.want)
		}
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	a := authority(t, "prod")
	node := Identity{"prod", RoleNode, "n1"}
	for want, r := range map[string]Request{
		"host name or IP address": {Identity: node, Validity: time.Hour},
		"leave out the port":      {Identity: node, Validity: time.Hour, Hosts: []string{"h:8300"}},
		`"a\x11b" is neither`:     {Identity: node, Validity: time.Hour, Hosts: []string{"a\x11b"}},
		`"a..b" is neither`:       {Identity: node, Validity: time.Hour, Hosts: []string{"a..b"}},
		"shorter than":            {Identity: node, Validity: time.Second, Hosts: []string{"h"}},
		"beyond the year":         {Identity: node, Validity: 1<<63 - 1, Hosts: []string{"h"}},
		"has no hosts":            {Identity: Identity{"prod", RoleClient, "c"}, Validity: time.Hour, Hosts: []string{"h"}},
		"cannot be a name":        {Identity: Identity{"prod", RoleNode, "../n"}, Validity: time.Hour, Hosts: []string{"h"}},
		"name of a cluster":       {Identity: Identity{"Prod", RoleNode, "n"}, Validity: time.Hour, Hosts: []string{"h"}},
		"nodes and clients only":  {Identity: Identity{"prod", RoleAuthority, ""}, Validity: time.Hour},
		"at most 64":              {Identity: node, Validity: time.Hour, Hosts: make([]string, 65)},
	} {
		at := now
		if want == "beyond the year" {
			at = time.Date(9900, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		if _, err := a.Issue(r, at); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; want %q", r, err, want)
		}
	}
	late := now.Add(AuthorityValidity - time.Hour)
	if p, err := a.Issue(Request{Identity: node, Validity: LeafValidity, Hosts: []string{"h"}}, late); err != nil ||
		!p.Leaf.NotAfter.Equal(a.Certificate.NotAfter) {
		t.Errorf("a certificate outlives its authority: %v", err)
	}
	if _, err := a.Issue(Request{Identity: node, Validity: LeafValidity, Hosts: []string{"h"}},
		late.Add(2*time.Hour)); err == nil {
		t.Error("an authority that has expired signs")
	}
}

// A node's certificate is for servers and for clients.
func TestACertificateOfANodeIsForBothEnds(t *testing.T) {
	ours := authority(t, "prod")
	f := files(t, issue(t, ours, RoleNode, "n1", now), ours)
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth} {
		leaf := *issue(t, ours, RoleNode, "n2", now).Leaf
		leaf.ExtKeyUsage = []x509.ExtKeyUsage{usage}
		if _, err := f.checkPeer([]*x509.Certificate{&leaf}, now); err == nil ||
			!strings.Contains(err.Error(), "must have serverAuth and clientAuth") {
			t.Errorf("with usage %d alone: %v", usage, err)
		}
	}
}
