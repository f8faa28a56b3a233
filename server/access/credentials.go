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
// A common name counts only if the certificate has no URI: those of `kvctl ca` have both, the same common name may be
// that of a node and that of a client, and a token for one is not for the other. A URI counts as it is spelt in the
// certificate, and one of Tenure only in its one spelling. A common name that is spelt as a URI is not taken for that
// URI, which the authority has not signed as one.
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

// CertificateName returns whose the certificate of c is, as the audit log says it: its first URI, or CN= and its common
// name, for which no URI can be taken. It is "" without a certificate.
func (c *Credentials) CertificateName() string {
	switch {
	case c.Certificate == nil:
		return ""
	case len(c.Certificate.URIs) > 0:
		return certs.URIs(c.Certificate)[0]
	}
	return "CN=" + c.Certificate.Subject.CommonName
}
