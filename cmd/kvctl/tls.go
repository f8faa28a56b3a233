package main

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"tenure/client"
)

// addTLS defines the flags of TLS.
func (a *app) addTLS(f *pflag.FlagSet) {
	f.StringVar(&a.tls.CAFile, "ca-cert", "", "authorities of the nodes, in PEM; endpoints are https:// then (TENURE_CACERT)")
	f.StringVar(&a.tls.CertFile, "client-cert", "", "certificate to show to the nodes (TENURE_CLIENT_CERT)")
	f.StringVar(&a.tls.KeyFile, "client-key", "", "key of --client-cert (TENURE_CLIENT_KEY)")
	f.StringVar(&a.tls.ServerName, "tls-server-name", "",
		"name that the nodes' certificates must have, if it is not that of the endpoint (TENURE_TLS_SERVER_NAME)")
}

// clientTLS returns what the environment and the flags say of TLS, nil if they say nothing. A flag overrides the
// environment.
func (a *app) clientTLS() (*client.TLS, error) {
	t, given, err := client.TLSFromEnviron(a.environ)
	if err != nil {
		return nil, usageError{err}
	}
	for _, s := range []struct {
		to    *string
		value string
	}{
		{&t.CAFile, a.tls.CAFile}, {&t.CertFile, a.tls.CertFile}, {&t.KeyFile, a.tls.KeyFile},
		{&t.ServerName, a.tls.ServerName},
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
	if a.tls.CAFile != "" {
		t.SkipVerify = false // the variable is older than what was typed just now
	}
	return &t, nil
}

// overTLS reports whether the nodes that the client was made for are spoken to over TLS.
func (a *app) overTLS() bool {
	t, _ := a.clientTLS() // it was read before
	return t != nil || slices.ContainsFunc(a.endpoints, func(e string) bool { return strings.HasPrefix(e, "https://") })
}

// warnOfWeakTLS says on standard error where t, which is not nil, or an endpoint does without what TLS is for.
func (p *printer) warnOfWeakTLS(t *client.TLS, endpoints []string) {
	if t.SkipVerify {
		p.note("the nodes' certificates are not verified: TENURE_HTTP_SSL_VERIFY or CONSUL_HTTP_SSL_VERIFY is false")
	}
	for _, e := range endpoints {
		if strings.HasPrefix(e, "http://") && *t != (client.TLS{}) {
			p.note("%s is spoken to without TLS, although there are settings of TLS: write https:// for it", e)
		}
	}
}

// hostOf returns the host and port of an endpoint.
func hostOf(endpoint string) string {
	_, host, _ := strings.Cut(endpoint, "://")
	return host
}
