package web

import (
	"cmp"
	"net/http"
	"strings"

	"tenure/api"
	"tenure/internal/certs"
	"tenure/kv"
	"tenure/server/access"
	"tenure/server/service"
)

// identify finds out who sends x, at the first call. With tokens that takes a hash, so it comes after the bounds on
// requests where it can.
func (d *dispatcher) identify(x *exchange) {
	if x.identified {
		return
	}
	x.identified = true
	var who access.Credentials
	var nobody error
	if d.decider != nil {
		who, nobody = credentialsOf(x.r)
	}
	x.req = service.NewRequest(d.backend, d.decider, who, nobody, x.timeout())
}

// mayWrite decides about a command as the log will have it.
func (x *exchange) mayWrite(c *kv.Command) error {
	x.trail.aboutCommand(c)
	return x.req.MayWrite(c)
}

// who returns the accessor of the token of the request, and whose its certificate is.
func (x *exchange) who() (accessor, certificate string) {
	proven := access.Credentials{Certificate: certs.Proven(x.r.TLS)}
	return x.req.Accessor(), proven.CertificateName()
}

// credentialsOf returns who a request says it is. As in Consul, the secret of a token in the query goes before one in
// X-Consul-Token, and that before one in Authorization.
func credentialsOf(r *http.Request) (access.Credentials, error) {
	var who access.Credentials
	who.Certificate = certs.Proven(r.TLS)
	secret, err := secretInQuery(r.URL.RawQuery)
	if err != nil {
		return who, err
	}
	secret = cmp.Or(secret, r.Header.Get(api.HeaderToken))
	if secret == "" {
		// RFC 9110: the name of the scheme has no case.
		if h := r.Header.Get(api.HeaderAuthorization); len(h) >= len(api.BearerPrefix) &&
			strings.EqualFold(h[:len(api.BearerPrefix)], api.BearerPrefix) {
			secret = strings.TrimSpace(h[len(api.BearerPrefix):])
		}
	}
	if len(secret) > api.MaxSecretBytes {
		return who, service.Invalid("the token has %d bytes: at most %d are accepted", len(secret), api.MaxSecretBytes)
	}
	who.Secret = secret
	return who, nil
}

// secretInQuery returns what the query names as the token.
func secretInQuery(raw string) (string, error) {
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		name, value, _ := strings.Cut(pair, "=")
		name, err := unescape(name)
		if err != nil {
			return "", err
		}
		if name == api.QueryToken {
			return unescape(value)
		}
	}
	return "", nil
}
