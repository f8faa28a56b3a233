package certs

import (
	"crypto/x509"
	"errors"
	"fmt"
)

// LoadNode is Load for the files with which a node meets others. It refuses more, now and whenever they have changed:
// an authority that is none, and a certificate that none of the authorities has signed. Peers with the same authorities
// would refuse that one.
func LoadNode(paths Paths, check func(*x509.Certificate) error) (*Files, error) {
	return load(&Files{paths: paths, check: check, ofNode: true})
}

// fits returns an error unless c can be the content of a node's files.
func (c *content) fits(paths Paths) error {
	for _, a := range c.authorities {
		if !isAuthority(a) {
			return fmt.Errorf("%s has the certificate of %s, which is no authority: give the file of the authority that has "+
				"signed the certificates, as kvctl ca init makes it (ca.pem)", paths.CA, owner(a))
		}
	}
	if c.certificate == nil || c.pool == nil {
		return nil
	}
	if !c.isSigned() {
		return fmt.Errorf("none of the authorities in %s has signed the certificate in %s, that of %s: give the ca.pem of "+
			"the authority that has, or make a certificate with kvctl ca node from the one that is given", paths.CA, paths.Cert,
			owner(c.certificate.Leaf))
	}
	return nil
}

// isAuthority reports whether c may sign others. Only version 3 says so itself.
func isAuthority(c *x509.Certificate) bool { return c.Version < 3 || c.BasicConstraintsValid && c.IsCA }

// isSigned reports whether one of the authorities has signed the certificate. Whether it is valid now is for whoever
// meets it: a wrong clock, or an authority that has expired, is another fault.
func (c *content) isSigned() bool {
	leaf := c.certificate.Leaf
	between := x509.NewCertPool()
	for _, der := range c.certificate.Certificate[1:] {
		if one, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(one)
		}
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: c.pool, Intermediates: between, CurrentTime: leaf.NotBefore,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	var unknown x509.UnknownAuthorityError
	return !errors.As(err, &unknown)
}
