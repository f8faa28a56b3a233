package main

import (
	"context"
	"crypto/tls"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/rs/zerolog"

	"tenure/internal/certs"
	"tenure/server"
)

// tlsSettings are the flags of TLS.
type tlsSettings struct {
	clients    certs.Paths // its CA is that of the peers, unless they have their own
	peers      certs.Paths
	minVersion uint16
	clientCA   string
	required   bool
	crl        string
}

func (t *tlsSettings) rows() []row {
	return []row{
		{"tls-cert", file(&t.clients.Cert), "certificate of this node: clients use HTTPS then (kvctl ca node makes " +
			"it)"},
		{"tls-key", file(&t.clients.Key), "key of --tls-cert"},
		{"tls-ca", file(&t.clients.CA), "authorities of the other nodes: with it nodes speak mutual TLS, by " +
			"--tls-cert unless --peer-tls-cert is given"},
		{"peer-tls-cert", file(&t.peers.Cert), "certificate of this node for its peers (default: --tls-cert)"},
		{"peer-tls-key", file(&t.peers.Key), "key of --peer-tls-cert (default: --tls-key)"},
		{"peer-tls-ca", file(&t.peers.CA), "authorities of the other nodes (default: --tls-ca)"},
		{"tls-min-version", setting(&t.minVersion, "1.3", "version", certs.ParseVersion), "oldest version of TLS for " +
			"clients, 1.3 or 1.2; nodes speak 1.3"},
		{"tls-client-ca", file(&t.clientCA), "authorities of clients: certificates that clients show must be theirs"},
		{"tls-require-client-cert", boolean(&t.required, "false"), "with --tls-client-ca: refuse clients that show " +
			"no certificate"},
		{"tls-crl", file(&t.crl), "lists of revoked certificates, of nodes and clients, which their authorities have " +
			"signed (kvctl ca revoke makes one)"},
	}
}

// parseFile accepts the name of a file, or nothing. The name is made absolute, since the guardian uses it too.
func parseFile(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	return filepath.Abs(s)
}

// forPeers returns the files for TLS between nodes; zero: there is none.
func (t *tlsSettings) forPeers() certs.Paths {
	p := t.peers
	ca := or(p.CA, t.clients.CA)
	if ca == "" && p.Cert == "" && p.Key == "" {
		return certs.Paths{} // --tls-cert alone is for clients
	}
	if p.Cert == "" && p.Key == "" {
		p.Cert, p.Key = t.clients.Cert, t.clients.Key
	}
	p.CA = ca
	return p
}

// checkTLS refuses files that do not go together.
func (s *settings) checkTLS() error {
	t, p := &s.tls, s.tls.forPeers()
	for _, pair := range [][2]string{{"tls-cert", "tls-key"}, {"peer-tls-cert", "peer-tls-key"}} {
		if s.given(pair[0]) != s.given(pair[1]) {
			have, need := pair[0], pair[1]
			if s.given(need) {
				have, need = need, have
			}
			return badConfig("%s: needs --%s too", s.name(have), need)
		}
	}
	switch {
	case !p.IsZero() && p.Cert == "":
		return badConfig("%s: nodes that speak TLS need a certificate; add --tls-cert and --tls-key", s.name(pick(
			s.given("peer-tls-ca"), "peer-tls-ca", "tls-ca")))
	case !p.IsZero() && p.CA == "":
		return badConfig("%s: nodes that speak TLS need the authorities of the others; add --tls-ca or --peer-tls-ca",
			s.name("peer-tls-cert"))
	case t.clientCA != "" && t.clients.Cert == "":
		return badConfig("%s: needs TLS for clients; add --tls-cert and --tls-key", s.name("tls-client-ca"))
	case t.crl != "" && t.clientCA == "" && p.IsZero():
		return badConfig("%s: needs the authorities that have signed its lists; add --tls-ca or --tls-client-ca",
			s.name("tls-crl"))
	case t.required && t.clientCA == "":
		return badConfig("%s: needs the authorities of clients; add --tls-client-ca", s.name("tls-require-client-cert"))
	}
	return nil
}

// server returns what the server is told.
func (t *tlsSettings) server() server.TLS {
	out := server.TLS{Peers: t.forPeers(), ClientCA: t.clientCA, ClientCertRequired: t.required, CRL: t.crl}
	out.Clients.Cert, out.Clients.Key = t.clients.Cert, t.clients.Key
	if t.minVersion != tls.VersionTLS13 {
		out.MinVersion = t.minVersion
	}
	return out
}

// onHangup returns a channel that receives at each SIGHUP, until ctx ends. Without TLS there is nothing to read again,
// and the signal only leaves a line in the log: it never ends a node.
func onHangup(ctx context.Context, t server.TLS, log zerolog.Logger, to *supervisor) <-chan func() {
	plain := t.Clients.IsZero() && t.Peers.IsZero()
	hangups, out := make(chan os.Signal, 1), make(chan func(), 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		defer signal.Stop(hangups)
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangups:
				done := to.reloading()
				if plain {
					log.Info().Msg("SIGHUP: without TLS there is nothing to read again")
					done()
					continue
				}
				select {
				case out <- done:
				default: // one is waiting
				}
			}
		}
	}()
	return out
}
