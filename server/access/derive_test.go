package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"testing"

	"github.com/google/uuid"

	"tenure/api"
	"tenure/kv"
)

// Nodes of two releases make the same secret of copies of one request: it is HKDF of RFC 5869, with the salt of none.
func TestTheDerivedSecretNeverChanges(t *testing.T) {
	const secret, name = "11111111-2222-4333-8444-555555555555", "2\nkey"
	who := &subject{token: &kv.Token{Accessor: "00000000-0000-4000-8000-0000000000bb"}}
	r := &Request{who: Credentials{Secret: secret}, subject: who}
	got, err := r.Derive(name)
	sum := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	want := uuid.UUID(sum(sum(make([]byte, sha256.Size), secret), "tenure: secret of a new token\n"+name+"\x01")[:16])
	want[6], want[8] = want[6]&0x0f|0x80, want[8]&0x3f|0x80
	if err != nil || got != want.String() || got != "e008d239-ac89-8364-b54c-cc9da1da051a" {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	for what, r := range map[string]*Request{
		"without a secret": {subject: who},
		"of the anonymous token": {who: Credentials{Secret: "anonymous"},
			subject: &subject{token: &kv.Token{Accessor: api.AnonymousAccessor}}},
	} {
		if got, err := r.Derive(name); !errors.Is(err, ErrNoSecret) {
			t.Errorf("%s: %s, %v", what, got, err)
		}
	}
}
