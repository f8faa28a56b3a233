package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"strings"
	"time"

	"tenure/internal/hostname"
)

// How long certificates are valid unless somebody says otherwise.
const (
	AuthorityValidity = 10 * 365 * 24 * time.Hour
	LeafValidity      = 365 * 24 * time.Hour
)

// Bounds of what a request may name.
const (
	minValidity = time.Minute
	maxHosts    = 64
)

// backdate is how much earlier than now a certificate begins to be valid, since clocks differ.
const backdate = 5 * time.Minute

// Authority signs certificates.
type Authority struct {
	Certificate *x509.Certificate
	Key         crypto.Signer
}

// Pair is a certificate and its key, in PEM.
type Pair struct {
	Cert, Key []byte
	Leaf      *x509.Certificate
}

// NewAuthority makes an authority for the cluster of that name, valid from now on.
func NewAuthority(cluster string, now time.Time, validity time.Duration) (Pair, error) {
	id := Identity{Cluster: cluster, Role: RoleAuthority}
	if err := id.Validate(); err != nil {
		return Pair{}, err
	}
	t, err := template(id, now, validity)
	if err != nil {
		return Pair{}, err
	}
	t.Subject.CommonName = fmt.Sprintf("Tenure authority of %s, %s", cluster, now.UTC().Format(time.DateOnly))
	t.IsCA, t.BasicConstraintsValid, t.MaxPathLenZero = true, true, true
	t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	return sign(t, t, key, key)
}

// Request is what a certificate is to say.
type Request struct {
	Identity
	Hosts    []string // names and IP addresses under which clients reach the node; none for a client
	Validity time.Duration
}

// Issue signs a certificate for a new key. It is valid from now on, and not longer than the authority itself.
func (a *Authority) Issue(r Request, now time.Time) (Pair, error) {
	if err := r.Validate(); err != nil {
		return Pair{}, err
	}
	if r.Role == RoleAuthority {
		return Pair{}, errors.New("an authority of Tenure signs certificates of nodes and clients only")
	}
	t, err := template(r.Identity, now, r.Validity)
	if err != nil {
		return Pair{}, err
	}
	if end := a.Certificate.NotAfter; now.After(end) {
		return Pair{}, fmt.Errorf("the authority expired on %s: renew it with kvctl ca renew --authority", day(end))
	} else if t.NotAfter.After(end) {
		t.NotAfter = end
	}
	t.KeyUsage = x509.KeyUsageDigitalSignature
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if r.Role == RoleNode {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		if err := addHosts(t, r.Hosts); err != nil {
			return Pair{}, err
		}
	} else if len(r.Hosts) > 0 {
		return Pair{}, errors.New("a client's certificate has no hosts: nobody connects to it")
	}
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	return sign(t, a.Certificate, key, a.Key)
}

// Hosts returns the names and addresses of c.
func Hosts(c *x509.Certificate) []string {
	hosts := append([]string(nil), c.DNSNames...)
	for _, ip := range c.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	return hosts
}

func addHosts(t *x509.Certificate, hosts []string) error {
	if len(hosts) == 0 {
		return errors.New("a node needs a host name or IP address at which clients reach it")
	}
	if len(hosts) > maxHosts {
		return fmt.Errorf("%d hosts: at most %d are allowed", len(hosts), maxHosts)
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
			continue
		}
		if !isHostName(h) {
			return fmt.Errorf("%.80q is neither a host name nor an IP address; leave out the port", h)
		}
		t.DNSNames = append(t.DNSNames, h)
	}
	return nil
}

// isHostName reports whether h can be the name of a host. A star may stand for its first label.
func isHostName(h string) bool {
	h, _ = strings.CutPrefix(h, "*.")
	return hostname.Valid(h)
}

// template returns what all certificates have.
func template(id Identity, now time.Time, validity time.Duration) (*x509.Certificate, error) {
	if validity < minValidity {
		return nil, fmt.Errorf("a validity of %v is shorter than %v", validity, minValidity)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	end := now.Add(validity)
	if end.Year() > 9999 {
		return nil, fmt.Errorf("a validity of %v goes beyond the year 9999", validity)
	}
	return &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)),
		Subject:      pkix.Name{Organization: []string{id.Cluster}, CommonName: id.Name},
		NotBefore:    now.Add(-backdate), NotAfter: end,
		URIs: []*url.URL{id.url()},
	}, nil
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func sign(t, parent *x509.Certificate, key, signer crypto.Signer) (Pair, error) {
	der, err := x509.CreateCertificate(rand.Reader, t, parent, key.Public(), signer)
	if err != nil {
		return Pair{}, fmt.Errorf("sign the certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return Pair{}, fmt.Errorf("read the certificate that was signed: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Cert: encodePEM(pemCertificate, der), Key: encodePEM(pemKey, keyDER), Leaf: leaf}, nil
}
