package alerts

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

// bed is a cluster under load that a Prometheus watches.
type bed struct {
	name   string
	out    *log.Logger
	health time.Duration
	dir    string
	bin    cluster.Binaries
	kvctl  string // the program
	c      *cluster.Cluster
	p      *prometheus
	fired  []Fired
	closes []func()
}

func (b *bed) say(format string, args ...any) { b.out.Printf(b.name+": "+format, args...) }

// atEnd has close call f; what was deferred last is called first.
func (b *bed) atEnd(f func()) { b.closes = append(b.closes, f) }

func (b *bed) close() {
	for i := len(b.closes) - 1; i >= 0; i-- {
		b.closes[i]()
	}
}

// start runs a cluster of three nodes, its load and its Prometheus. prepare may change the nodes' flags; it may be nil.
func (b *bed) start(ctx context.Context, cfg cluster.Config, prepare func(*cluster.Cluster)) error {
	cfg.Dir, cfg.Nodes = b.dir, 3
	if cfg.Binaries.Kvnode == "" {
		cfg.Binaries = b.bin
	}
	var err error
	if b.c, err = cluster.New(cfg); err != nil {
		return err
	}
	if prepare != nil {
		prepare(b.c)
	}
	b.atEnd(func() { b.c.Stop(5 * time.Second) })
	ready, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := b.c.Start(ready); err != nil {
		return err
	}
	if b.p, err = startPrometheus(ctx, b.dir, b.scrape()); err != nil {
		return err
	}
	b.atEnd(b.p.stop)
	return b.load(ctx)
}

// scrape returns the configuration of the cluster's job.
func (b *bed) scrape() string {
	var targets []string
	for _, n := range b.c.Nodes() {
		targets = append(targets, `"`+n.Client+`"`)
	}
	out := "    static_configs: [{targets: [" + strings.Join(targets, ", ") + "]}]\n"
	if t := b.c.TLS(); t != nil {
		out += fmt.Sprintf("    scheme: https\n    tls_config: {ca_file: %s, cert_file: %s, key_file: %s}\n",
			t.CAFile, t.CertFile, t.KeyFile)
	}
	if root := b.c.Root(); root != "" {
		out += "    authorization: {credentials: " + root + "}\n"
	}
	return out
}

const (
	loadClients = 4
	loadKeys    = 1000
	loadPrefix  = "load/"
)

// load has clients do what those of a small cluster do: a hundred operations a second, half of them writes.
func (b *bed) load(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	b.atEnd(func() { stop(); wg.Wait() })
	for i := range loadClients {
		c, err := b.client(i)
		if err != nil {
			return err
		}
		wg.Go(func() {
			defer c.Close()
			for tick := time.NewTicker(time.Second / 25); ctx.Err() == nil; {
				key := fmt.Sprint(loadPrefix, rand.IntN(loadKeys))
				if rand.IntN(2) == 0 {
					_, _ = c.Set(ctx, key, []byte(key), client.WriteOptions{})
				} else {
					_, _, _ = c.Get(ctx, key, client.ReadOptions{})
				}
				select {
				case <-ctx.Done():
				case <-tick.C:
				}
			}
		})
	}
	return nil
}

// client returns a client that tries node i first, counted from 0 round and round.
func (b *bed) client(i int) (*client.Client, error) {
	all := b.c.Endpoints()
	i %= len(all)
	return client.New(client.Config{Endpoints: append(all[i:len(all):len(all)], all[:i]...), TLS: b.c.TLS(),
		TokenFile: b.c.TokenFile(), Timeout: 2 * time.Second, AttemptTimeout: time.Second})
}

// burst has clients write without a pause, over those keys, until ctx ends.
func (b *bed) burst(ctx context.Context, clients, keys, valueBytes int) error {
	var wg sync.WaitGroup
	for i := range clients {
		c, err := b.client(i)
		if err != nil {
			return err
		}
		wg.Go(func() {
			defer c.Close()
			for ctx.Err() == nil {
				key := fmt.Sprint("burst/", rand.IntN(keys))
				if _, err := c.Set(ctx, key, make([]byte, valueBytes), client.WriteOptions{}); err != nil {
					cluster.Pause(ctx, 10*time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
	return nil
}

// ctl runs kvctl on the cluster, which has neither TLS nor tokens.
func (b *bed) ctl(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, b.kvctl, args...)
	cmd.Env = append(os.Environ(), "KVCTL_ENDPOINTS="+strings.Join(b.c.Endpoints(), ","))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kvctl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// roles returns the master and a follower.
func (b *bed) roles(ctx context.Context) (master, follower *cluster.Node, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if master, _, err = b.c.Master(ctx); err != nil {
		return nil, nil, err
	}
	return master, b.c.Node(master.ID%len(b.c.Nodes()) + 1), nil
}
