package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tenure/client"
	"tenure/internal/completion"
	"tenure/internal/input"
)

// connection says which cluster is meant, and for whom its nodes are asked: by the flags, and by the environment where
// no flag does.
type connection struct {
	environ []string
	notes   *printer

	endpoints        []string
	endpointsFrom    string // the variable that has the default of --endpoints, "" for none
	endpointsGiven   bool   // with --endpoints
	onlyEndpoints    bool   // no other address is used
	tls              client.TLS
	token, tokenFile string
	timeout          time.Duration

	cached *client.Client

	completing bool                   // a script of package completion asks
	found      []completion.Candidate // for it
}

// addEndpoints defines the flag that names the nodes.
func (k *connection) addEndpoints(f *pflag.FlagSet) {
	var endpoints []string
	endpoints, k.endpointsFrom = environEndpoints(k.environ)
	f.StringSliceVar(&k.endpoints, "endpoints", endpoints,
		"client addresses of nodes, HOST[:PORT], separated by commas ("+endpointsVariable+")")
	f.BoolVar(&k.onlyEndpoints, "only-endpoints", false,
		"use no addresses of members but those, for a balancer or a forwarded port")
}

// refusedTimeout is how long a command goes on if nothing listens at any endpoint. A node that restarts is back sooner.
const refusedTimeout = 500 * time.Millisecond

// defaultEndpoints reports whether nobody has named the endpoints.
func (k *connection) defaultEndpoints() bool { return k.endpointsFrom == "" && !k.endpointsGiven }

// endpointsOrigin returns what has named the endpoints.
func (k *connection) endpointsOrigin() string {
	if k.endpointsFrom != "" && !k.endpointsGiven {
		return k.endpointsFrom
	}
	return "--endpoints"
}

// cleanEndpoints removes spaces around the endpoints, and empty ones.
func cleanEndpoints(list []string) []string {
	var out []string
	for _, e := range list {
		if e = strings.TrimSpace(e); e != "" {
			out = append(out, e)
		}
	}
	return out
}

// client returns the handle on the cluster. It is made when it is first needed.
func (k *connection) client(ctx context.Context) (*client.Client, error) {
	if k.cached != nil {
		return k.cached, nil
	}
	if err := checkEnviron(k.environ); err != nil {
		return nil, err
	}
	k.endpoints = cleanEndpoints(k.endpoints)
	tls, err := k.clientTLS()
	if err != nil {
		return nil, err
	}
	cfg := client.Config{Endpoints: k.endpoints, Timeout: k.timeout, GiveUpRefused: refusedTimeout, TLS: tls,
		NoLearning: k.onlyEndpoints, WatchWaits: k.notes.noteWatchWaits}
	if err := cfg.Validate(); err != nil {
		return nil, usage("%s: %s", k.endpointsOrigin(), strings.TrimPrefix(err.Error(), "client: "))
	}
	if cfg.Token, cfg.TokenFile, err = k.clientToken(); err != nil {
		return nil, err
	}
	// The files may be pipes, as in --token-file <(pass show tenure).
	c, err := input.Await(ctx, "the files of the token and of TLS", func() (*client.Client, error) {
		return client.New(cfg)
	})
	switch {
	case input.IsEnded(err):
		return nil, err
	case err != nil:
		return nil, usage("%s", strings.TrimPrefix(err.Error(), "client: "))
	}
	if tls != nil {
		k.notes.warnOfWeakTLS(tls, k.endpoints)
	}
	k.cached = c
	return c, nil
}

func (k *connection) close() {
	if k.cached != nil {
		k.cached.Close()
	}
}
