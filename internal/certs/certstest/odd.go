package certstest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tenure/internal/certs"
)

// Signer signs certificates which kvctl ca would not make. One without a certificate signs each with its own key.
type Signer struct {
	Cert  *x509.Certificate
	Key   crypto.Signer
	chain []byte // what files have behind a certificate of this signer: those of authorities below the root
}

// Signer returns the authority of c as a signer.
func (c *CA) Signer(t testing.TB) Signer {
	t.Helper()
	return signerOf(t, c.Bundle, filepath.Join(c.Path, certs.KeyName))
}

// SignerOf returns the owner of a certificate as a signer, whether or not it may sign.
func SignerOf(t testing.TB, p certs.Paths) Signer { return signerOf(t, p.Cert, p.Key) }

func signerOf(t testing.TB, cert, key string) Signer {
	t.Helper()
	pair := Load(t, certs.Paths{Cert: cert, Key: key}).Certificate()
	s := Signer{Cert: pair.Leaf, Key: pair.PrivateKey.(crypto.Signer)}
	if !s.Cert.IsCA {
		s.chain = pemOf("CERTIFICATE", s.Cert.Raw)
	}
	return s
}

// Root returns an authority as those of other programs are: it names no cluster, and may have authorities below it.
func Root(t testing.TB) Signer {
	s, _ := Signer{}.authority(t, "root")
	return s
}

// Below returns an authority that s has signed.
func (s Signer) Below(t testing.TB) Signer {
	below, der := s.authority(t, "intermediate")
	below.chain = append(pemOf("CERTIFICATE", der), s.chain...)
	return below
}

func (s Signer) authority(t testing.TB, name string) (Signer, []byte) {
	t.Helper()
	c := template(name)
	c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	der, key := s.sign(t, c)
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return Signer{Cert: leaf, Key: key}, der
}

// Node returns a certificate as kvctl ca makes it for a node, still to be changed and signed.
func Node(cluster, name string) *x509.Certificate {
	c := template(name)
	c.Subject.Organization = []string{cluster}
	c.URIs = []*url.URL{URI("tenure://" + cluster + "/node/" + name)}
	c.DNSNames, c.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	return c
}

func template(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature}
}

// URI parses s, which is one.
func URI(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// sign signs c for a new key.
func (s Signer) sign(t testing.TB, c *x509.Certificate) (der []byte, key *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := s.Cert, s.Key
	if parent == nil {
		parent, signer = c, key
	}
	if der, err = x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer); err != nil {
		t.Fatal(err)
	}
	return der, key
}

// Sign signs c for a new key and returns the files; bundle is their file of authorities.
func (s Signer) Sign(t testing.TB, c *x509.Certificate, bundle string) certs.Paths {
	t.Helper()
	der, key := s.sign(t, c)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := certs.Paths{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), CA: bundle}
	writeFile(t, p.Cert, append(pemOf("CERTIFICATE", der), s.chain...))
	writeFile(t, p.Key, pemOf("PRIVATE KEY", pkcs8))
	return p
}

// Bundle writes the certificate of s into a file of authorities beside those in the files that are named.
func (s Signer) Bundle(t testing.TB, files ...string) string {
	t.Helper()
	all := pemOf("CERTIFICATE", s.Cert.Raw)
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	name := filepath.Join(t.TempDir(), "bundle.pem")
	writeFile(t, name, all)
	return name
}

// Alone returns p with a file of the first certificate alone, without those of the authorities between.
func Alone(t testing.TB, p certs.Paths) certs.Paths {
	t.Helper()
	leaf := Load(t, certs.Paths{Cert: p.Cert, Key: p.Key}).Certificate().Leaf
	p.Cert = filepath.Join(t.TempDir(), "leaf.pem")
	writeFile(t, p.Cert, pemOf("CERTIFICATE", leaf.Raw))
	return p
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func writeFile(t testing.TB, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
