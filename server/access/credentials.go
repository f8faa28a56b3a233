package access

import (
	"crypto/x509"
	"strings"

	"tenure/internal/certs"
)

// Credentials is who a request says it is.
type Credentials struct {
	Secret string // of a token; "": none was given
	// Certificate is the certificate that the client has proven to have, on the connection that the request came over;
	// nil: none. It stands for a token only if there is no secret.
	Certificate *x509.Certificate
}

// names returns the names of the certificate under which a token may be found: its URIs, or if it has none its common
// name.
//
// A common name counts only if the certificate has no URI. Certificates of `kvctl ca` have both, and a node and a
// client may have the same common name, but a token for one is not for the other. A URI counts as spelt in the
// certificate, and a URI of Tenure only in its one spelling. A common name spelt as a URI does not count as that URI:
// the authority has not signed it as one.
func (c *Credentials) names() (list []string) {
	if c.Certificate == nil {
		return nil
	}
	if len(c.Certificate.URIs) > 0 {
		return certs.Names(c.Certificate)
	}
	if cn := c.Certificate.Subject.CommonName; cn != "" && !strings.Contains(cn, "://") {
		list = append(list, cn)
	}
	return list
}

// CertificateName returns the name of c's certificate for the audit log: its first URI, or "CN=" and its common name,
// which cannot be mistaken for a URI. It is "" without a certificate.
func (c *Credentials) CertificateName() string {
	switch {
	case c.Certificate == nil:
		return ""
	case len(c.Certificate.URIs) > 0:
		return certs.URIs(c.Certificate)[0]
	}
	return "CN=" + c.Certificate.Subject.CommonName
}
