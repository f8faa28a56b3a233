package client

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"tenure/api"
	"tenure/internal/utf8text"
)

// TokenFromEnviron returns what the environment says of the token: its secret, or the name of a file that has it, or
// neither. The variables of Consul's clients are read too; those of Tenure take precedence, and of one kind the file:
//
//	TENURE_HTTP_TOKEN       CONSUL_HTTP_TOKEN        Config.Token
//	TENURE_HTTP_TOKEN_FILE  CONSUL_HTTP_TOKEN_FILE   Config.TokenFile
func TokenFromEnviron(environ []string) (token, file string) {
	look := func(name string) string {
		for _, e := range environ {
			if v, ok := strings.CutPrefix(e, name+"="); ok && v != "" {
				return v
			}
		}
		return ""
	}
	for _, prefix := range [...]string{"TENURE_", "CONSUL_"} {
		if file = look(prefix + "HTTP_TOKEN_FILE"); file != "" {
			return "", file
		}
		if token = look(prefix + "HTTP_TOKEN"); token != "" {
			return token, ""
		}
	}
	return "", ""
}

// tokenReloadEvery is how often the file of a token is looked at, when requests are made.
const tokenReloadEvery = time.Second

// token is the secret that requests carry.
type token struct {
	file string

	mu     sync.Mutex
	secret string
	looked time.Time
}

func newToken(cfg *Config) (*token, error) {
	t := &token{file: cfg.TokenFile, secret: cfg.Token, looked: time.Now()}
	if t.file == "" {
		return t, nil
	}
	secret, err := ReadTokenFile(t.file)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	t.secret = secret
	return t, nil
}

// current returns the secret, "" if there is none. It looks at the file if that was not done for a while.
func (t *token) current() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file != "" && time.Since(t.looked) >= tokenReloadEvery {
		t.reload()
	}
	return t.secret
}

// replaced reports whether there is another secret than the one that was refused. It looks at the file at once.
func (t *token) replaced(refused string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file != "" && t.secret == refused {
		t.reload()
	}
	return t.secret != refused
}

// reload reads the file. What cannot be used leaves the secret before in use: somebody may be writing it just now.
func (t *token) reload() {
	t.looked = time.Now()
	if secret, err := ReadTokenFile(t.file); err == nil {
		t.secret = secret
	}
}

// maxAround is how many bytes a file may have besides the secret: a byte order mark, an end of line, and one too many.
const maxAround = 6

// ReadTokenFile returns the secret in a file, which is all that it may have.
func ReadTokenFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	defer f.Close() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, api.MaxSecretBytes+maxAround))
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	if b, err = utf8text.Of(b); err != nil {
		return "", fmt.Errorf("token file %s: %w", name, err)
	}
	secret := strings.TrimSpace(string(b))
	if secret == "" {
		return "", fmt.Errorf("token file %s is empty: write the secret of a token into it", name)
	}
	if err := checkSecret(secret); err != nil {
		return "", fmt.Errorf("token file %s: %w", name, err)
	}
	return secret, nil
}

// checkSecret returns an error if s cannot be the secret of a token. The error does not show it.
func checkSecret(s string) error {
	if len(s) > api.MaxSecretBytes {
		return fmt.Errorf("the token is longer than %d bytes", api.MaxSecretBytes)
	}
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' {
			return errors.New("the token has a space, or a character that is not ASCII: give its SecretID")
		}
	}
	return nil
}
