package main

import (
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
	t.Default = t.Default || a.tls.CAFile != "" || hasVariable(a.environ, "TENURE_CACERT")
	return &t, nil
}

func hasVariable(environ []string, name string) bool {
	for _, e := range environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok && v != "" {
			return true
		}
	}
	return false
}

// hostOf returns the host and port of an endpoint.
func hostOf(endpoint string) string {
	_, host, _ := strings.Cut(endpoint, "://")
	return host
}
