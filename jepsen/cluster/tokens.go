package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/uuid"

	"tenure/api"
	"tenure/client"
)

// Tokens are those of a cluster that asks for them, as an operator has them. Its methods are for one goroutine.
type Tokens struct {
	Root string // secret of the first token, which allows everything
	File string // has the secret that the clients use
	c    *Cluster
}

// Token is one of the clients'.
type Token struct {
	Accessor, Secret string
	Expires          time.Time // by then it has, by this machine's clock; zero: never
}

const (
	// clientsPolicy allows what the workloads do.
	clientsPolicy = "clients"
	clientsRules  = `key_prefix "" { policy = "write" }
session_prefix "" { policy = "write" }
lease_prefix "" { policy = "write" }`

	tokenTimeout = 20 * time.Second // for one change of tokens, whatever happens to the cluster
	tokenRetry   = 5 * time.Millisecond
)

// Tokens returns those of the cluster, nil if it asks for none.
func (c *Cluster) Tokens() *Tokens { return c.tokens }

// TokenFile returns the file that has the secret of the clients, "" if the cluster asks for none.
func (c *Cluster) TokenFile() string {
	if c.tokens == nil {
		return ""
	}
	return c.tokens.File
}

// Root returns the secret of the first token, "" if the cluster asks for none.
func (c *Cluster) Root() string {
	if c.tokens == nil {
		return ""
	}
	return c.tokens.Root
}

// guard has a cluster ask for tokens, which bootstrap makes.
func (c *Cluster) guard() {
	c.cfg.Flags = append([]string{"--acl"}, c.cfg.Flags...)
	c.tokens = &Tokens{Root: uuid.NewString(), File: filepath.Join(c.cfg.Dir, "token"), c: c}
}

// bootstrap makes the first token and one for the clients, unless that was done before.
func (t *Tokens) bootstrap(ctx context.Context) error {
	if _, err := os.Stat(t.File); err == nil {
		return nil
	}
	for {
		err := t.as("", t.c.Node(1), func(a *client.ACL) error {
			_, err := a.Bootstrap(ctx, t.Root, client.WriteOptions{})
			return err
		})
		if err == nil {
			break
		}
		if !errors.Is(err, client.ErrFeatureLevel) || ctx.Err() != nil { // a new cluster reaches the level soon
			return err
		}
		time.Sleep(tokenRetry)
	}
	err := t.as(t.Root, t.c.Node(1), func(a *client.ACL) error {
		_, err := a.CreatePolicy(ctx, client.PolicySpec{Name: clientsPolicy, Rules: clientsRules}, client.WriteOptions{})
		return err
	})
	if err != nil {
		return err
	}
	first, err := t.Make(ctx, t.c.Node(1), 0)
	if err != nil {
		return err
	}
	return t.Give(first.Secret)
}

// as calls f with the tokens of a client that knows one node.
func (t *Tokens) as(secret string, through *Node, f func(*client.ACL) error) error {
	c, err := client.New(client.Config{Endpoints: []string{t.c.Endpoint(through)}, TLS: t.c.TLS(), Token: secret,
		Timeout: tokenTimeout, NoLearning: true})
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c.ACL())
}

// Make makes a token that allows what clients do, for ttl or for good.
func (t *Tokens) Make(ctx context.Context, through *Node, ttl time.Duration) (out Token, err error) {
	err = t.as(t.Root, through, func(a *client.ACL) error {
		made, err := a.CreateToken(ctx, client.TokenSpec{TTL: ttl, Policies: []client.PolicyLink{{Name: clientsPolicy}}},
			client.WriteOptions{})
		out = Token{Accessor: made.AccessorID, Secret: made.SecretID}
		return err
	})
	if ttl != 0 {
		out.Expires = time.Now().Add(ttl) // the time began before the answer
	}
	return out, err
}

// Give makes a secret that of the clients.
func (t *Tokens) Give(secret string) error {
	err := os.WriteFile(t.File+".new", []byte(secret+"\n"), 0o600)
	if err == nil {
		err = os.Rename(t.File+".new", t.File)
	}
	return err
}

// Revoke deletes a token, and returns a revision that is no earlier than that of the deletion. It sends one request
// after the other until one is acknowledged.
func (t *Tokens) Revoke(ctx context.Context, through *Node, accessor string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	for {
		revision, err := t.delete(ctx, t.c.Endpoint(through)+api.PathACLTokens+accessor)
		if err == nil {
			return revision, nil
		}
		if ctx.Err() != nil {
			return 0, fmt.Errorf("node %d does not delete a token: %w", through.ID, err)
		}
		time.Sleep(tokenRetry)
	}
}

func (t *Tokens) delete(ctx context.Context, where string) (revision uint64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, where, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set(api.HeaderToken, t.Root)
	rsp, err := t.c.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer rsp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(rsp.Body, 1<<10))
	if err == nil && rsp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", rsp.StatusCode, text)
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(rsp.Header.Get(api.HeaderRevision), 10, 64)
}
