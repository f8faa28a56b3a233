package dev

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tenure/client"
)

// bootstrapTimeout bounds how long the first token may take, once the cluster is ready.
const bootstrapTimeout = 20 * time.Second

// bootstrapEvery is how often that is tried.
const bootstrapEvery = 50 * time.Millisecond

// clientConfig returns how to reach the cluster, without a token.
func (c *cluster) clientConfig() client.Config {
	cfg := client.Config{NoLearning: true}
	if ca := c.members[0].node.CA; ca != "" {
		cfg.TLS = &client.TLS{CAFile: ca, Default: true}
	}
	for _, m := range c.members {
		cfg.Endpoints = append(cfg.Endpoints, m.node.Client)
	}
	return cfg
}

// bootstrap makes the first token of a cluster, with the secret in its file, unless that was done in an earlier run.
func bootstrap(ctx context.Context, cfg client.Config, file string) error {
	ctx, cancel := context.WithTimeout(ctx, bootstrapTimeout)
	defer cancel()
	secret, err := client.ReadTokenFile(file)
	if err != nil {
		return err
	}
	anonymous, err := client.New(cfg)
	if err != nil {
		return err
	}
	defer anonymous.Close()
	for {
		_, err = anonymous.ACL().Bootstrap(ctx, secret, client.WriteOptions{})
		if !errors.Is(err, client.ErrFeatureLevel) || ctx.Err() != nil {
			break
		}
		time.Sleep(bootstrapEvery) // a new cluster reaches the level of tokens within moments
	}
	if !errors.Is(err, client.ErrDenied) {
		return err
	}
	cfg.Token = secret
	root, err := client.New(cfg)
	if err != nil {
		return err
	}
	defer root.Close()
	_, _, err = root.ACL().Self(ctx, client.ReadOptions{})
	if errors.Is(err, client.ErrUnknownToken) {
		return fmt.Errorf("the secret in %s is not that of a token of this cluster, whose first token was made before: "+
			"write its secret there, or make another first token, as docs/security.md says of one that is lost, or "+
			"begin anew with another --data", file)
	}
	return err
}

// secured announces the cluster once its first token is there, or why it is not.
func (c *cluster) secured(err error) {
	c.securing = nil
	if err != nil {
		c.tell.say("without a token: %s", strings.TrimSpace(err.Error()))
	}
	c.ready = true
	c.tell.ready(time.Since(c.began), c.master)
}
