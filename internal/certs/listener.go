package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"time"
)

// Clients says how a node listens for clients.
type Clients struct {
	Files      *Files // certificate and key
	MinVersion uint16 // tls.VersionTLS13 or tls.VersionTLS12
	// Authorities sign the certificates of clients. Nil: none is asked for.
	Authorities *Files
	// Required: a client without such a certificate is refused.
	Required bool
	// Seen takes note of the certificates that clients have proven to have. May be nil.
	Seen *Seen
}

// Config returns the configuration of the listener. New connections take what the files hold then; those that are open
// go on.
func (c Clients) Config() *tls.Config {
	base := &tls.Config{
		MinVersion: c.MinVersion,
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return c.Files.Certificate(), nil
		},
	}
	if c.Authorities == nil {
		return base
	}
	// A session that is resumed would rest on the authorities of before.
	base.SessionTicketsDisabled = true
	// Certificates are verified by VerifyConnection, and not by ClientAuth, which begins with the signatures. It is
	// called for a session that is resumed as well.
	base.ClientAuth = tls.RequestClientCert
	if c.Required {
		base.ClientAuth = tls.RequireAnyClientCert
	}
	base.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		now := base.Clone()
		now.GetConfigForClient, now.ClientCAs = nil, c.Authorities.Pool()
		now.VerifyConnection = func(s tls.ConnectionState) error {
			ways, err := c.checkClient(s.PeerCertificates, now.ClientCAs, time.Now())
			if raw, ok := hello.Conn.(*handshakeConn); ok && ways != nil {
				raw.proven = &proven{of: &c, ways: ways}
			}
			return err
		}
		return now, nil
	}
	return base
}

// proven is how a client has proved who it is.
type proven struct {
	of   *Clients
	ways [][]*x509.Certificate // from its certificate to an authority
}

// checkClient returns an error unless the certificate that a client shows, if it shows one, is one for clients that an
// authority has signed. Without a certificate there are no ways to an authority.
func (c *Clients) checkClient(shown []*x509.Certificate, authorities *x509.CertPool,
	now time.Time) (ways [][]*x509.Certificate, err error) {
	if len(shown) == 0 {
		return nil, nil
	}
	ways, err = verify(shown, authorities, c.Authorities.revoked, now, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return nil, fmt.Errorf("the certificate of %s is refused: %s", owner(shown[0]), why(err, now))
	}
	return ways, nil
}

// begin takes note of a connection whose other end is proven, until leave is called. conn, which is below TLS, is
// closed when the certificate is revoked.
func (p *proven) begin(conn io.Closer) (leave func(), err error) {
	forget, err := p.of.Authorities.revoked.keep(conn, p.ways)
	if err != nil {
		return nil, fmt.Errorf("the certificate of %s is refused: %w", owner(p.ways[0][0]), err)
	}
	gone := p.of.Seen.begin(p.ways[0][0])
	return func() {
		forget()
		gone()
	}, nil
}

// Proven returns the certificate of the client at the other end of a connection to a listener with a Config, nil if it
// has shown none: one that is shown was verified.
func Proven(s *tls.ConnectionState) *x509.Certificate {
	if s == nil || !s.HandshakeComplete || len(s.PeerCertificates) == 0 {
		return nil
	}
	return s.PeerCertificates[0]
}

// ParseVersion returns the version of TLS that s names, 1.2 or 1.3.
func ParseVersion(s string) (uint16, error) {
	switch s {
	case "1.3":
		return tls.VersionTLS13, nil
	case "1.2":
		return tls.VersionTLS12, nil
	}
	return 0, fmt.Errorf("%q is not a version of TLS that is spoken; use 1.3, or 1.2 for old clients", s)
}
