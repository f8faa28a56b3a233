package web

import (
	"cmp"
	"net/http"
	"strings"

	"tenure/api"
	"tenure/internal/certs"
	"tenure/server/service"
)

// identify finds out who sends x, at the first call. With tokens that takes a hash, so it comes after the bounds on
// requests where it can.
func (d *dispatcher) identify(x *exchange) {
	if x.identified {
		return
	}
	x.identified = true
	who := service.Credentials{Certificate: certs.Proven(x.r.TLS)}
	var nobody error
	if d.service.HasTokens() {
		who.Secret, nobody = secretOf(x.r)
	}
	x.req.Identify(who, nobody, x.timeout())
}

// secretOf returns the secret of the token that a request names, "" if it names none. As in Consul, one in the query
// goes before one in X-Consul-Token, and that before one in Authorization.
func secretOf(r *http.Request) (string, error) {
	secret, err := secretInQuery(r.URL.RawQuery)
	if err != nil {
		return "", err
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
		return "", service.Invalid("the token has %d bytes: at most %d are accepted", len(secret), api.MaxSecretBytes)
	}
	return secret, nil
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
