package access

import (
	"crypto/hkdf"
	"crypto/sha256"
	"errors"

	"github.com/google/uuid"

	"tenure/api"
)

// ErrNoSecret means that a request has no secret of its own from which another one could follow: it has no token, or
// stands for one by a client certificate.
var ErrNoSecret = errors.New("the request has no secret of its own")

// secretUse separates the secrets of tokens from all else that may ever be derived from a secret.
const secretUse = "tenure: secret of a new token\n"

// derived is the version of the derived UUIDs: the one that RFC 9562 leaves to its users.
const derived = 8

// Derive returns the secret of a token that the request makes, a UUID: the same for each copy of the request, which name
// names. It follows from the request's own secret, by HKDF with SHA-256. Who does not have the request's secret cannot
// compute the new one, even with name. Who has the new one cannot compute the request's. Something must have been found
// allowed before.
func (r *Request) Derive(name string) (string, error) {
	if r.who.Secret == "" || r.Token().Accessor == api.AnonymousAccessor {
		return "", ErrNoSecret // everybody knows the secret of the anonymous token
	}
	key, err := hkdf.Key(sha256.New, []byte(r.who.Secret), nil, secretUse+name, len(uuid.UUID{}))
	if err != nil {
		return "", err
	}
	id := uuid.UUID(key)
	id[6] = id[6]&0x0f | derived<<4
	id[8] = id[8]&0x3f | 0x80
	return id.String(), nil
}
