package web

import (
	"cmp"
	"net/http"
	"strings"

	"tenure/api"
	"tenure/internal/certs"
	"tenure/server/access"
)

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
		return who, badRequest("the token has %d bytes: at most %d are accepted", len(secret), api.MaxSecretBytes)
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
