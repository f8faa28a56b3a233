package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"tenure/internal/certs"
)

// TLS says how a Client speaks TLS with endpoints that begin with https://, and with those without a scheme if any
// field is set. The zero value trusts the authorities of the system and shows no certificate. The files are in PEM, and
// are read again for each new connection.
type TLS struct {
	CAFile   string // authorities of the nodes; "": those of the system
	CertFile string // certificate that the Client shows; it and KeyFile go together
	KeyFile  string
	// ServerName is the name that the nodes' certificates must have; "": the host of the endpoint.
	ServerName string
	// SkipVerify takes any certificate of a node: the connection is encrypted, but with whom is not known.
	SkipVerify bool
	// Default makes endpoints without a scheme https://, also if no other field is set.
	Default bool
}

// ErrTLS is wrapped by Error.Err if the last try failed because of TLS: a certificate was refused by either side, or only
// one side speaks TLS.
var ErrTLS = errors.New("TLS")

// secure makes connections over TLS.
type secure struct {
	cfg   TLS
	files *certs.Files
	plain dialFunc
	limit time.Duration // of a handshake
}

func newSecure(cfg *Config) (*secure, error) {
	s := &secure{plain: cfg.DialContext, limit: cfg.AttemptTimeout}
	if cfg.TLS != nil {
		s.cfg = *cfg.TLS
	}
	var err error
	s.files, err = certs.Load(certs.Paths{Cert: s.cfg.CertFile, Key: s.cfg.KeyFile, CA: s.cfg.CAFile}, nil)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return s, nil
}

// Dialler returns a function that opens connections over TLS as a Client does. The network is "tcp", the address
// host:port.
func (t TLS) Dialler() (func(ctx context.Context, network, address string) (net.Conn, error), error) {
	cfg := Config{TLS: &t}
	cfg.setDefaults()
	s, err := newSecure(&cfg)
	if err != nil {
		return nil, err
	}
	return s.dial, nil
}

// dial connects to address and performs the handshake.
func (s *secure) dial(ctx context.Context, network, address string) (net.Conn, error) {
	_, _ = s.files.Reload() // what cannot be used leaves the files before in use
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	raw, err := s.plain(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := tls.Client(raw, s.config(address))
	if err := c.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, s.explain(err)
	}
	return c, nil
}

// config returns the configuration for a connection to address with what the files hold now.
func (s *secure) config(address string) *tls.Config {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	if s.cfg.ServerName != "" {
		host = s.cfg.ServerName
	}
	c := &tls.Config{ServerName: host, RootCAs: s.files.Pool(), InsecureSkipVerify: s.cfg.SkipVerify,
		NextProtos: []string{"http/1.1"}}
	if own := s.files.Certificate(); own != nil {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own, nil }
	}
	return c
}

// explain returns err in a user's words, as an ErrTLS, if it is one of TLS, and else err.
func (s *secure) explain(err error) error {
	if meaning, ok := certs.Explain(err, s.files, time.Now()); ok && !errors.Is(err, ErrTLS) {
		return fmt.Errorf("%w: %w", ErrTLS, meaning)
	}
	return err
}

// httpToTLS is how net/http answers a request without TLS on a port that speaks it.
const httpToTLS = "Client sent an HTTP request to an HTTPS server."

var errWantsTLS = fmt.Errorf("%w: it speaks TLS only: write https:// for it, and give its authority", ErrTLS)

// TLSFromEnviron returns what the environment says of TLS, as in "TENURE_CACERT=ca.pem", and whether it says anything.
// The variables of Consul's clients are read too; those of Tenure take precedence:
//
//	TENURE_CACERT           CONSUL_CACERT            TLS.CAFile
//	TENURE_CLIENT_CERT      CONSUL_CLIENT_CERT       TLS.CertFile
//	TENURE_CLIENT_KEY       CONSUL_CLIENT_KEY        TLS.KeyFile
//	TENURE_TLS_SERVER_NAME  CONSUL_TLS_SERVER_NAME   TLS.ServerName
//	TENURE_HTTP_SSL         CONSUL_HTTP_SSL          TLS.Default, "true" or "false"
//	TENURE_HTTP_SSL_VERIFY  CONSUL_HTTP_SSL_VERIFY   TLS.SkipVerify, if it is "false"
func TLSFromEnviron(environ []string) (t TLS, given bool, err error) {
	look := func(name string) (value, variable string) {
		for _, prefix := range [...]string{"TENURE_", "CONSUL_"} {
			for _, e := range environ {
				if v, ok := strings.CutPrefix(e, prefix+name+"="); ok && v != "" {
					given = true
					return v, prefix + name
				}
			}
		}
		return "", ""
	}
	flag := func(name string, otherwise bool) bool {
		v, variable := look(name)
		if v == "" {
			return otherwise
		}
		b, e := strconv.ParseBool(v)
		if e != nil {
			err = errors.Join(err, fmt.Errorf("%s=%q: must be true or false", variable, v))
		}
		return b
	}
	t.CAFile, _ = look("CACERT")
	t.CertFile, _ = look("CLIENT_CERT")
	t.KeyFile, _ = look("CLIENT_KEY")
	t.ServerName, _ = look("TLS_SERVER_NAME")
	t.Default = flag("HTTP_SSL", false)
	t.SkipVerify = !flag("HTTP_SSL_VERIFY", true)
	return t, given, err
}
