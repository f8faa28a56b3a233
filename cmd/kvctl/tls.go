package main

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"tenure/client"
)

// addTLS defines the flags of TLS.
func (k *connection) addTLS(f *pflag.FlagSet) {
	f.StringVar(&k.tls.CAFile, "ca-cert", "", "authorities of the nodes, in PEM; endpoints are https:// then (TENURE_CACERT)")
	f.StringVar(&k.tls.CertFile, "client-cert", "", "certificate to show to the nodes (TENURE_CLIENT_CERT)")
	f.StringVar(&k.tls.KeyFile, "client-key", "", "key of --client-cert (TENURE_CLIENT_KEY)")
	f.StringVar(&k.tls.ServerName, "tls-server-name", "",
		"name that the nodes' certificates must have, if it is not that of the endpoint (TENURE_TLS_SERVER_NAME)")
}

// clientTLS returns what the environment and the flags say of TLS, nil if they say nothing. A flag overrides the
// environment.
func (k *connection) clientTLS() (*client.TLS, error) {
	t, given, err := client.TLSFromEnviron(k.environ)
	if err != nil {
		return nil, usageError{err}
	}
	for _, s := range []struct {
		to    *string
		value string
	}{
		{&t.CAFile, k.tls.CAFile}, {&t.CertFile, k.tls.CertFile}, {&t.KeyFile, k.tls.KeyFile},
		{&t.ServerName, k.tls.ServerName},
	} {
		if s.value != "" {
			*s.to, given = s.value, true
		}
	}
	if !given {
		return nil, nil
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		return nil, usage("--client-cert and --client-key go together: give both, or none")
	}
	if k.tls.CAFile != "" {
		t.SkipVerify = false // the variable is older than what was typed just now
	}
	return &t, nil
}

// overTLS reports whether the nodes that the client was made for are spoken to over TLS.
func (k *connection) overTLS() bool {
	t, _ := k.clientTLS() // it was read before
	return t != nil || slices.ContainsFunc(k.endpoints, func(e string) bool { return hasScheme(e, "https") })
}

// warnOfWeakTLS says on standard error where t, which is not nil, or an endpoint does without what TLS is for.
func (p *printer) warnOfWeakTLS(t *client.TLS, endpoints []string) {
	if t.SkipVerify {
		p.note("the nodes' certificates are not verified: TENURE_HTTP_SSL_VERIFY or CONSUL_HTTP_SSL_VERIFY is false")
	}
	for _, e := range endpoints {
		if hasScheme(e, "http") && *t != (client.TLS{}) {
			p.note("%s is spoken to without TLS, although there are settings of TLS: write https:// for it", e)
		}
	}
}

// hasScheme reports whether an endpoint has that scheme. Case does not count, as in the client.
func hasScheme(endpoint, scheme string) bool {
	given, _, ok := strings.Cut(endpoint, "://")
	return ok && strings.EqualFold(given, scheme)
}

// hostOf returns the host and port of an endpoint.
func hostOf(endpoint string) string {
	_, host, _ := strings.Cut(endpoint, "://")
	return host
}
