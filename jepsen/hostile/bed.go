package hostile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/jepsen/cluster"
	"tenure/jepsen/workload"
)

const startTimeout = 30 * time.Second

// bedKind says which of the clusters a flood is for.
type bedKind string

// The kinds of beds.
const (
	plain  bedKind = ""       // plain HTTP
	wide   bedKind = "wide"   // plain HTTP, with as many connections as nodes take unless they are told otherwise
	tokens bedKind = "tokens" // plain HTTP, with tokens
	secure bedKind = "secure" // TLS
)

var bedKinds = []bedKind{plain, wide, tokens, secure}

// bed is one of the clusters that are flooded.
type bed struct {
	cluster   *cluster.Cluster
	endpoints []string
	tls       *client.TLS // nil: plain HTTP
	kvctl     []string    // command line of kvctl for this cluster, without a token
	token     string      // secret of the token of load and operators; "": there are no tokens
	tokenFile string      // has it; "": there are no tokens
	flooder   string      // secret of the token of floods
}

// requestRate is how many requests a client of the nodes may send in a second, and at once.
const requestRate = 500

// limitFlags make each loopback address a stranger's, and bounds short enough to be reached within a flood.
func (c *Config) limitFlags(kind bedKind) []string {
	flags := []string{"--limit-loopback", "--max-connections-per-source=1500", "--max-waiting-per-client=500",
		"--request-rate-mode=enforcing", fmt.Sprint("--request-rate=", requestRate),
		fmt.Sprint("--request-burst=", requestRate), "--lease-time=" + c.Lease.String(),
		"--body-timeout=" + c.Arrival.String()}
	switch kind {
	case wide:
		return append(flags, "--header-timeout=1m")
	case tokens:
		flags = append(flags, "--acl")
	}
	return append(flags, "--max-connections=2500", "--header-timeout="+c.Arrival.String())
}

// startBed starts a cluster of that kind.
func startBed(ctx context.Context, cfg *Config, kind bedKind, bin cluster.Binaries, kvctl string) (*bed, error) {
	if kind == secure {
		return secureBed(ctx, cfg, bin, kvctl)
	}
	c, err := cluster.New(cluster.Config{Binaries: bin, Dir: filepath.Join(cfg.Dir, "plain"+string(kind)),
		Nodes: cfg.Nodes, Flags: cfg.limitFlags(kind)})
	if err != nil {
		return nil, err
	}
	b := &bed{cluster: c, endpoints: c.Endpoints()}
	b.kvctl = []string{kvctl, "--endpoints", strings.Join(b.endpoints, ",")}
	if kind == tokens {
		b.tokenFile = filepath.Join(cfg.Dir, "token")
	}
	return b, b.start(ctx)
}

// secureBed starts one node that speaks TLS with its clients, with certificates that kvctl makes.
func secureBed(ctx context.Context, cfg *Config, bin cluster.Binaries, kvctl string) (*bed, error) {
	ca := filepath.Join(cfg.Dir, "ca")
	for _, args := range [][]string{
		{"ca", "init", ca, "--cluster", "hostile"}, {"ca", "node", "n1", "--dir", ca, "--hosts", "127.0.0.1"},
	} {
		if out, err := exec.CommandContext(ctx, kvctl, args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("kvctl %v: %w: %s", args, err, out)
		}
	}
	c, err := cluster.New(cluster.Config{Binaries: bin, Dir: filepath.Join(cfg.Dir, "secure"), Nodes: 1,
		Flags: append(cfg.limitFlags(secure), "--tls-cert="+filepath.Join(ca, "node-n1.pem"),
			"--tls-key="+filepath.Join(ca, "node-n1-key.pem"))})
	if err != nil {
		return nil, err
	}
	authority := filepath.Join(ca, "ca.pem")
	b := &bed{cluster: c, endpoints: []string{"https://" + c.Node(1).Client}, tls: &client.TLS{CAFile: authority}}
	b.kvctl = []string{kvctl, "--endpoints", strings.Join(b.endpoints, ","), "--ca-cert", authority}
	return b, b.start(ctx)
}

// start starts the nodes and puts the value that the deaf ask for.
func (b *bed) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for _, n := range b.cluster.Nodes() {
		if err := n.Start(); err != nil {
			return errors.Join(err, b.stop())
		}
	}
	if b.tokenFile != "" {
		if err := b.makeTokens(ctx); err != nil {
			return errors.Join(err, b.stop())
		}
	}
	c, err := b.client()
	if err != nil {
		return errors.Join(err, b.stop())
	}
	defer c.Close()
	for {
		if _, err = c.Set(ctx, bigKey, make([]byte, 512<<10), client.WriteOptions{}); err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return errors.Join(fmt.Errorf("the cluster does not serve: %w", err), b.stop())
		}
	}
}

// makeTokens makes the tokens, as soon as the cluster serves.
func (b *bed) makeTokens(ctx context.Context) (err error) {
	for b.token == "" {
		if b.token, err = b.makeToken(ctx, "bootstrap"); err != nil && !cluster.Pause(ctx, 100*time.Millisecond) {
			return err
		}
	}
	if err := os.WriteFile(b.tokenFile, []byte(b.token), 0o600); err != nil {
		return err
	}
	args := append(slices.Clone(b.kvctl[1:]), "--token", b.token, "acl", "policy", "create", "--name", "flood",
		"--rules", `key_prefix "" { policy = "write" }`)
	if out, err := exec.CommandContext(ctx, b.kvctl[0], args...).CombinedOutput(); err != nil {
		return fmt.Errorf("make a policy: %w: %s", err, out)
	}
	b.flooder, err = b.makeToken(ctx, "token", "create", "--policy-name", "flood")
	return err
}

// makeToken makes a token by a command of kvctl acl, and returns its secret.
func (b *bed) makeToken(ctx context.Context, command ...string) (secret string, err error) {
	args := slices.Clone(b.kvctl[1:])
	if b.token != "" {
		args = append(args, "--token", b.token)
	}
	args = append(append(append(args, "acl"), command...), "--json")
	out, err := exec.CommandContext(ctx, b.kvctl[0], args...).Output()
	if err != nil {
		return "", fmt.Errorf("kvctl acl %v: %w: %s", command, err, out)
	}
	var t api.Token
	if err := json.Unmarshal(out, &t); err != nil {
		return "", fmt.Errorf("kvctl acl %v said %.200q: %w", command, out, err)
	}
	return t.SecretID, nil
}

func (b *bed) client() (*client.Client, error) {
	return client.New(client.Config{Endpoints: b.endpoints, TLS: b.tls, Token: b.token, Timeout: opTimeout,
		AttemptTimeout: opTimeout / 2, NoLearning: true})
}

func (b *bed) stop() error {
	b.cluster.Stop(2 * time.Second)
	return nil
}

// load is what the other clients are told.
func (b *bed) load(cfg *Config) workload.Config {
	return workload.Config{Endpoints: b.endpoints, TLS: b.tls, TokenFile: b.tokenFile, Clients: cfg.Clients,
		Timeout: opTimeout, Seed: cfg.Seed}
}

// targets returns where a flood goes.
func (b *bed) targets(f *Flood, master int) (out []string) {
	for _, n := range b.cluster.Nodes() {
		switch {
		case f.one && n.ID != master:
		case f.peers:
			out = append(out, n.Peer)
		default:
			out = append(out, n.Client)
		}
	}
	return out
}
