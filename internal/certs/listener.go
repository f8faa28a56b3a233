package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
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
	// Certificates are verified by VerifyPeerCertificate, and not by ClientAuth, which begins with the signatures.
	base.ClientAuth = tls.RequestClientCert
	if c.Required {
		base.ClientAuth = tls.RequireAnyClientCert
	}
	base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := base.Clone()
		now.GetConfigForClient, now.ClientCAs = nil, c.Authorities.Pool()
		now.VerifyPeerCertificate = func(shown [][]byte, _ [][]*x509.Certificate) error {
			return checkClient(shown, now.ClientCAs, time.Now())
		}
		return now, nil
	}
	return base
}

// checkClient returns an error unless the certificate that a client shows, if it shows one, is one for clients that an
// authority has signed.
func checkClient(shown [][]byte, authorities *x509.CertPool, now time.Time) error {
	if len(shown) == 0 {
		return nil
	}
	chain := make([]*x509.Certificate, len(shown))
	for i, der := range shown {
		var err error
		if chain[i], err = x509.ParseCertificate(der); err != nil {
			return err
		}
	}
	if err := verify(chain, authorities, now, x509.ExtKeyUsageClientAuth); err != nil {
		return fmt.Errorf("the certificate of %s is refused: %s", owner(chain[0]), why(err, now))
	}
	return nil
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
