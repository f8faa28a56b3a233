package certs

import (
	"crypto/tls"
	"fmt"
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
	base.ClientAuth = tls.VerifyClientCertIfGiven
	if c.Required {
		base.ClientAuth = tls.RequireAndVerifyClientCert
	}
	base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := base.Clone()
		now.GetConfigForClient, now.ClientCAs = nil, c.Authorities.Pool()
		return now, nil
	}
	return base
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
