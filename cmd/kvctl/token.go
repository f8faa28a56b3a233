package main

import (
	"context"

	"github.com/spf13/pflag"

	"tenure/client"
	"tenure/internal/input"
)

// addToken defines the flags that say for which token requests are made.
func (a *app) addToken(f *pflag.FlagSet) {
	f.StringVar(&a.token, "token", "",
		"secret of the token to use, which others on this machine may see: better a file (TENURE_HTTP_TOKEN)")
	f.StringVar(&a.tokenFile, "token-file", "", "file that has the secret (TENURE_HTTP_TOKEN_FILE)")
}

// clientToken returns the secret or the file that the flags and the environment name. A flag overrides the environment.
func (a *app) clientToken() (secret, file string, err error) {
	switch {
	case a.token != "" && a.tokenFile != "":
		return "", "", usage("--token and --token-file contradict each other: give one of them")
	case a.token == "" && a.tokenFile == "":
		secret, file = client.TokenFromEnviron(a.environ)
		return secret, file, nil
	}
	return a.token, a.tokenFile, nil
}

// secret returns the secret of the token, "" if there is none.
func (a *app) secret(ctx context.Context) (string, error) {
	secret, file, err := a.clientToken()
	if err != nil || file == "" {
		return secret, err
	}
	return input.Await(ctx, file, func() (string, error) { return client.ReadTokenFile(file) })
}
