package main

import (
	"context"

	"github.com/spf13/pflag"

	"tenure/client"
	"tenure/internal/input"
)

// addToken defines the flags that say for which token requests are made.
func (k *connection) addToken(f *pflag.FlagSet) {
	f.StringVar(&k.token, "token", "",
		"secret of the token to use, which others on this machine may see: better a file (TENURE_HTTP_TOKEN)")
	f.StringVar(&k.tokenFile, "token-file", "", "file that has the secret (TENURE_HTTP_TOKEN_FILE)")
}

// clientToken returns the secret or the file that the flags and the environment name. A flag overrides the environment.
func (k *connection) clientToken() (secret, file string, err error) {
	switch {
	case k.token != "" && k.tokenFile != "":
		return "", "", usage("--token and --token-file contradict each other: give one of them")
	case k.token == "" && k.tokenFile == "":
		secret, file = client.TokenFromEnviron(k.environ)
		return secret, file, nil
	}
	return k.token, k.tokenFile, nil
}

// secret returns the secret of the token, "" if there is none.
func (k *connection) secret(ctx context.Context) (string, error) {
	secret, file, err := k.clientToken()
	if err != nil || file == "" {
		return secret, err
	}
	return input.Await(ctx, file, func() (string, error) { return client.ReadTokenFile(file) })
}
