package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/internal/certs"
	"tenure/internal/ownfile"
	"tenure/internal/shown"
	"tenure/server/members"
	"tenure/server/metrics"
	"tenure/storage"
)

// TLS names the files with which a node proves its identity and checks that of others. The zero value means no TLS.
type TLS struct {
	Clients certs.Paths // certificate and key for clients
	// MinVersion is the oldest version of TLS that clients may speak, tls.VersionTLS13 or tls.VersionTLS12; 0: 1.3.
	MinVersion uint16
	// ClientCA is the file of the authorities whose certificates clients may show; "": clients are not asked for any.
	// ClientCertRequired refuses those that show none.
	ClientCA           string
	ClientCertRequired bool
	Peers              certs.Paths // certificate, key and authorities between nodes
	// CRL is the file of lists of revoked certificates, of clients and nodes, that their authorities have signed. "":
	// none.
	CRL string
}

func (t TLS) validate() error {
	for _, p := range []struct {
		paths certs.Paths
		flag  string
	}{{t.Clients, "--tls"}, {t.Peers, "--peer-tls"}} {
		if (p.paths.Cert == "") != (p.paths.Key == "") {
			return fmt.Errorf("%w: %s-cert and %[2]s-key go together: give both", ErrConfig, p.flag)
		}
	}
	switch {
	case !t.Peers.IsZero() && (t.Peers.Cert == "" || t.Peers.CA == ""):
		return fmt.Errorf("%w: TLS between nodes needs a certificate, its key and the authorities of the others: give "+
			"--tls-cert, --tls-key and --tls-ca, or the same with --peer-tls", ErrConfig)
	case t.Clients.Cert == "" && (t.ClientCA != "" || t.ClientCertRequired):
		return fmt.Errorf("%w: --tls-client-ca and --tls-require-client-cert need --tls-cert and --tls-key", ErrConfig)
	case t.ClientCertRequired && t.ClientCA == "":
		return fmt.Errorf("%w: --tls-require-client-cert needs --tls-client-ca, the authorities of the clients", ErrConfig)
	case t.CRL != "" && t.ClientCA == "" && t.Peers.IsZero():
		return fmt.Errorf("%w: --tls-crl needs --tls-ca or --tls-client-ca, the authorities that have signed its lists",
			ErrConfig)
	}
	return nil
}

// secrets are the certificates, keys and authorities of a node. They outlive its runs. All methods may be called on nil,
// which is a node without TLS.
type secrets struct {
	cfg       TLS
	log       zerolog.Logger
	clients   *certs.Files       // nil: no TLS for clients
	clientCAs *certs.Files       // nil: no certificates of clients
	peers     *certs.Files       // nil: no TLS between nodes
	revoked   *certs.Revocations // nil: without lists
	seen      certs.Seen
	watcher   certs.Watcher
	ended     uint64 // connections, as far as the log has told of them; belongs to the watcher
}

// openTLS reads the files, nil if there are none.
func (c Config) openTLS() (*secrets, error) {
	if c.TLS.Clients.IsZero() && c.TLS.Peers.IsZero() {
		return nil, nil
	}
	s := &secrets{cfg: c.TLS, log: c.Logger}
	var err error
	load := func(to **certs.Files, p certs.Paths, check func(*x509.Certificate) error) {
		if err == nil && !p.IsZero() {
			if *to, err = certs.LoadNode(p, check); err == nil {
				s.watcher.Files = append(s.watcher.Files, *to)
			}
		}
	}
	load(&s.peers, c.TLS.Peers, s.sameNode)
	if p := c.TLS.Clients; p.Cert == c.TLS.Peers.Cert && p.Key == c.TLS.Peers.Key {
		s.clients = s.peers
	} else {
		load(&s.clients, certs.Paths{Cert: p.Cert, Key: p.Key}, nil)
	}
	load(&s.clientCAs, certs.Paths{CA: c.TLS.ClientCA}, nil)
	if err == nil && c.TLS.CRL != "" {
		s.revoked, err = certs.LoadRevocations(c.TLS.CRL, s.peers, s.clientCAs)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: TLS: %w", ErrConfig, ownfile.Unreadable(err))
	}
	if s.revoked != nil {
		s.watcher.Files = append(s.watcher.Files, s.revoked)
	}
	return s, nil
}

// sameNode refuses a certificate for peers that is not a node's, or another node's than before: a running node keeps
// its name.
func (s *secrets) sameNode(c *x509.Certificate) error {
	if err := certs.CheckNode(c); err != nil {
		return err
	}
	if s.peers == nil {
		return nil
	}
	if id, _ := certs.IdentityOf(c); id != s.peers.Identity() {
		return fmt.Errorf("it is that of %s, and this node runs as %s", id, s.peers.Identity())
	}
	return nil
}

// watch reads the files again when they change or reload receives, until ctx ends or end is called. end waits for the
// watcher to stop.
func (s *secrets) watch(ctx context.Context, reload <-chan func()) (end func()) {
	if s == nil {
		return func() {}
	}
	s.watcher.Report = certs.Report{
		Changed: s.changed,
		Broken: func(f certs.Source, err error) {
			s.log.Error().Err(err).Strs("files", f.Names()).
				Msg("TLS: the new files are of no use, those before stay in use")
		},
		Expires: func(_ certs.Source, e certs.Expiry) {
			s.log.Warn().Str("file", e.File).Str("of", e.Named).Time("at", e.At).Msg(expiryText(e, time.Now()))
		},
	}
	s.warnOfOwn()
	ctx, cancel := context.WithCancel(ctx)
	var over sync.WaitGroup
	over.Go(func() { s.watcher.Run(ctx, reload) })
	return func() {
		cancel()
		over.Wait()
	}
}

// changed says that files have come into use.
func (s *secrets) changed(f certs.Source) {
	line, text := s.log.Info().Strs("files", f.Names()), "TLS: new files are in use for new connections"
	if f == certs.Source(s.revoked) {
		line, text = line.Uint64("connections_ended", s.revoked.Ended()-s.ended),
			"TLS: new lists of revoked certificates are in use, also for connections that were open"
		s.ended = s.revoked.Ended()
	}
	line.Msg(text)
	s.warnOfOwn()
}

// warnOfOwn says so if a certificate of this node itself is revoked: then the others refuse it, or soon will.
func (s *secrets) warnOfOwn() {
	if s.revoked == nil {
		return
	}
	own := []*certs.Files{s.peers}
	if s.clients != s.peers {
		own = append(own, s.clients)
	}
	for _, f := range own {
		if f == nil {
			continue
		}
		if err := s.revoked.Revoked(f.Certificate().Leaf); err != nil {
			s.log.Error().Str("file", f.Paths().Cert).AnErr("why", err).
				Msg("TLS: the certificate of this node itself is revoked: whoever has the same list refuses it")
		}
	}
}

// expiryText says that a certificate or a list expires soon, or has expired.
func expiryText(e certs.Expiry, now time.Time) string {
	over := !now.Before(e.At)
	switch at := e.At.UTC().Format(time.RFC3339); {
	case e.What == certs.WhatList && over:
		return fmt.Sprintf("TLS: a newer %s should have come by %s: this one stays in use: make it anew with kvctl ca revoke",
			e.What, at)
	case e.What == certs.WhatList:
		return fmt.Sprintf("TLS: a newer %s should come soon: make it anew with kvctl ca revoke", e.What)
	case over:
		return fmt.Sprintf("TLS: this %s has expired at %s: nobody takes it: renew it with kvctl ca renew", e.What, at)
	}
	return fmt.Sprintf("TLS: this %s expires soon: renew it with kvctl ca renew", e.What)
}

// clientConfig returns the configuration for clients, nil if there is none.
func (s *secrets) clientConfig() *tls.Config {
	if s == nil || s.clients == nil {
		return nil
	}
	oldest := s.cfg.MinVersion
	if oldest == 0 {
		oldest = tls.VersionTLS13
	}
	return certs.Clients{Files: s.clients, MinVersion: oldest, Authorities: s.clientCAs,
		Required: s.cfg.ClientCertRequired, Seen: &s.seen}.Config()
}

// certifies reports whether the certificate for clients is for the host of that name.
func (s *secrets) certifies(name string) bool {
	return s != nil && s.clients != nil && s.clients.Certificate().Leaf.VerifyHostname(name) == nil
}

// peerFiles returns the files for peers, nil if there are none.
func (s *secrets) peerFiles() *certs.Files {
	if s == nil {
		return nil
	}
	return s.peers
}

// nodeName returns the name of a node that was given one, perhaps "": without one it has that of its certificate.
func (s *secrets) nodeName(given string) string {
	if s == nil || s.peers == nil || given != "" {
		return given
	}
	return s.peers.Identity().Name
}

// checkMember returns an error if the members know this node by another name than its certificate: no peer would take
// it.
func (s *secrets) checkMember(id storage.Identity) error {
	if s == nil || s.peers == nil {
		return nil
	}
	x, _, listed := id.Membership.Find(id.Node)
	if name := members.NameOf(x); listed && name != s.peers.Identity().Name {
		return fmt.Errorf("%w: the certificate in %s is that of %s, and the members know this node as %s: make one where "+
			"the authority is, with: %s", ErrConfig, s.peers.Paths().Cert, s.peers.Identity(), name,
			certs.CommandForNode(name, s.peers.Certificate().Leaf))
	}
	return nil
}

// checkJoin returns an error if a node that is to join as name has the certificate of another.
func (s *secrets) checkJoin(name string) error {
	if s == nil || s.peers == nil || name == s.peers.Identity().Name {
		return nil
	}
	return fmt.Errorf("%w: --node-name %s: the certificate in %s is that of %s, and a node joins under the name of its "+
		"certificate: leave out --node-name, or make a certificate where the authority is, with: %s", ErrConfig,
		shown.Word(name), s.peers.Paths().Cert, s.peers.Identity(), certs.CommandForNode(name, s.peers.Certificate().Leaf))
}

// register registers the figures of the files.
func (s *secrets) register(reg prometheus.Registerer) {
	if s == nil {
		return
	}
	metrics.CounterFunc(reg, "tls_reloads_total", "How often changed files of TLS have come into use.",
		func() float64 { return float64(s.watcher.Reloads()) })
	metrics.CounterFunc(reg, "tls_reload_failures_total",
		"How often changed files of TLS were of no use, so that those before stayed in use.",
		func() float64 { return float64(s.watcher.Failures()) })
	if s.revoked != nil {
		metrics.CounterFunc(reg, "tls_revoked_connections_ended_total",
			"Open connections that were ended because a certificate was revoked.",
			func() float64 { return float64(s.revoked.Ended()) })
	}
	if s.clientCAs != nil {
		reg.MustRegister(&clientExpiry{seen: &s.seen, at: metrics.Desc("tls_client_expiry_timestamp_seconds",
			"When the certificate expires that a client has shown last, of the clients of the last 24 hours.", "certificate")})
	}
	seen := map[string]bool{}
	for _, f := range s.watcher.Files {
		for _, e := range f.Expiries() {
			if seen[e.File] {
				continue
			}
			seen[e.File] = true
			metrics.Gauge(reg, "tls_expiry_timestamp_seconds", "When the first certificate in a file of TLS expires.",
				prometheus.Labels{"file": e.File}, func() float64 { return float64(earliest(f, e.File).Unix()) })
		}
	}
}

// earliest returns when the first certificate in the file expires.
func earliest(f certs.Source, file string) (at time.Time) {
	for _, e := range f.Expiries() {
		if e.File == file && (at.IsZero() || e.At.Before(at)) {
			at = e.At
		}
	}
	return at
}

// clientExpiry collects when the certificates of clients expire.
type clientExpiry struct {
	seen *certs.Seen
	at   *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *clientExpiry) Describe(to chan<- *prometheus.Desc) { to <- c.at }

// Collect implements prometheus.Collector.
func (c *clientExpiry) Collect(to chan<- prometheus.Metric) {
	for _, e := range c.seen.Expiries() {
		to <- prometheus.MustNewConstMetric(c.at, prometheus.GaugeValue, float64(e.At.Unix()), e.Named)
	}
}
