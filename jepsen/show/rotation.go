package show

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"tenure/client"
	"tenure/jepsen/check"
	"tenure/jepsen/cluster"
	"tenure/jepsen/history"
	"tenure/jepsen/workload"
)

const (
	rotationClients = 12
	rotationTimeout = 15 * time.Second // of one request, on a machine with much else to do
	rotationSettles = 30               // new connections after each step
	reread          = 30 * time.Second // in which a node reads its files again
)

// rotation is the story under way.
type rotation struct {
	*stage
	c         *cluster.Cluster
	kvctl     string
	callers   callers
	handed    int // files given to a node, or to the clients
	firstPair client.TLS
}

func rotated(ctx context.Context, s *stage) error {
	kvctl, err := cluster.BuildKvctl(ctx, filepath.Join(s.dir, "bin"))
	if err != nil {
		return err
	}
	c, err := s.secured(ctx)
	if err != nil {
		return err
	}
	defer c.Stop(2 * time.Second)
	r := &rotation{stage: s, c: c, kvctl: kvctl}
	if err := r.keepFirst(); err != nil {
		return err
	}
	if err := r.underLoad(ctx); err != nil {
		return err
	}
	return r.aftermath(ctx)
}

// secured starts a cluster of three whose nodes and clients have certificates.
func (s *stage) secured(ctx context.Context) (*cluster.Cluster, error) {
	c, err := cluster.New(cluster.Config{Binaries: s.bin, Dir: s.dir, Nodes: 3, TLS: true})
	if err == nil {
		if err = start(ctx, c); err != nil {
			c.Stop(time.Second)
		}
	}
	return c, err
}

// keepFirst keeps the clients' first certificate, which is good for nothing at the end.
func (r *rotation) keepFirst() error {
	cert, key := r.c.Certificates().Pair(0)
	r.firstPair = *r.c.TLS()
	r.firstPair.CertFile, r.firstPair.KeyFile = filepath.Join(r.dir, "first.pem"), filepath.Join(r.dir, "first-key.pem")
	for to, from := range map[string]string{r.firstPair.CertFile: cert, r.firstPair.KeyFile: key} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// underLoad renews everything while clients read and write, on connections that stay open and on new ones.
func (r *rotation) underLoad(ctx context.Context) error {
	loading, enough := context.WithCancel(ctx)
	defer enough()
	rec := history.NewRecorder()
	load := make(chan error, 1)
	go func() {
		load <- workload.Registers(loading, workload.Config{Endpoints: r.c.Endpoints(), TLS: r.c.TLS(),
			Clients: rotationClients, Timeout: rotationTimeout, Seed: 1}, rec)
	}()
	called := make(chan error, 1)
	go func() { called <- r.callers.run(loading, r.c) }()
	began := time.Now()
	err := r.steps(ctx)
	enough()
	if err := errors.Join(err, <-load, <-called); err != nil {
		return err
	}
	ops := rec.Ops()
	for _, op := range ops {
		if op.Outcome != history.OK {
			return fmt.Errorf("a request was not answered, after %v: %+v", op.Call, op)
		}
	}
	for _, v := range check.Registers(ops, 30*time.Second) {
		if v.Result != porcupine.Ok {
			return fmt.Errorf("the history of key %s: %v", v.Key, v.Result)
		}
	}
	r.say("%d files handed out in %.1f s; %d operations on open connections and %d on new ones, none refused, all "+
		"linearizable", r.handed, time.Since(began).Seconds(), len(ops), r.callers.done.Load())
	if len(ops) < 1000 {
		return fmt.Errorf("%d operations are no load", len(ops))
	}
	return nil
}

// steps is what an operator does: see docs/security.md, Rotation.
func (r *rotation) steps(ctx context.Context) error {
	certs := r.c.Certificates()
	for _, step := range []struct {
		types string // to kvctl, before anything is handed out
		give  func(place int) error
		told  bool // node 3 gets a SIGHUP too, and need not look by itself
	}{
		{"renew", certs.GivePair, false},
		{"renew --authority", certs.GiveBundle, true},
		{"renew", certs.GivePair, true},
		{"retire", certs.GiveBundle, false},
	} {
		args := append([]string{"ca"}, append(strings.Fields(step.types), "--dir", certs.Made())...)
		if out, err := exec.CommandContext(ctx, r.kvctl, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("kvctl %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		for place := range 4 { // the clients, and the nodes one by one
			if err := r.handOut(ctx, place, step.told || place != 3, step.give); err != nil {
				return fmt.Errorf("kvctl ca %s, files of %d: %w", step.types, place, err)
			}
			if err := r.callers.settle(ctx, rotationSettles); err != nil {
				return err
			}
		}
	}
	return nil
}

// handOut gives files to node number place, or with 0 to the clients, which look by themselves.
func (r *rotation) handOut(ctx context.Context, place int, tell bool, give func(int) error) error {
	r.handed++
	if place == 0 {
		return give(0)
	}
	ctx, cancel := context.WithTimeout(ctx, reread)
	defer cancel()
	n := r.c.Node(place)
	before, err := r.c.Readings(ctx, n)
	if err == nil {
		err = give(place)
	}
	if err == nil && tell {
		err = n.Hangup()
	}
	if err != nil {
		return err
	}
	inUse, err := r.c.Reread(ctx, n, before)
	if err == nil && !inUse {
		err = errors.New("the new files are of no use")
	}
	return err
}

// aftermath: the replaced certificates are refused, and the nodes find each other with the new ones.
func (r *rotation) aftermath(ctx context.Context) error {
	before := r.firstPair
	old, err := client.New(client.Config{Endpoints: r.c.Endpoints(), TLS: &before, NoLearning: true,
		Timeout: 5 * time.Second, GiveUpRefused: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	defer old.Close()
	_, _, err = old.Get(ctx, "k", client.ReadOptions{})
	if !errors.Is(err, client.ErrTLS) {
		return fmt.Errorf("a client comes in with the certificate of an authority that is retired: %w", err)
	}
	r.say("the first certificate: %v", err)
	for _, n := range r.c.Nodes() {
		if err := n.Terminate(10 * time.Second); err != nil {
			return err
		}
		if err := start(ctx, r.c); err != nil {
			return err
		}
	}
	r.say("each node was restarted, and is ready")
	return nil
}

// callers write to each node, each time on a new connection.
type callers struct{ done atomic.Int64 }

func (c *callers) run(ctx context.Context, of *cluster.Cluster) error {
	dial, err := of.TLS().Dialler()
	if err != nil {
		return err
	}
	h := &http.Client{Timeout: rotationTimeout,
		Transport: &http.Transport{DialTLSContext: dial, DisableKeepAlives: true}}
	var wg sync.WaitGroup
	errs := make([]error, len(of.Nodes()))
	for i, n := range of.Nodes() {
		wg.Go(func() {
			for turn := 0; ctx.Err() == nil && errs[i] == nil; turn++ {
				url := fmt.Sprintf("%s/v1/kv/caller/%d", of.Endpoint(n), i)
				if errs[i] = c.call(h, url, fmt.Sprint(turn)); errs[i] != nil {
					errs[i] = fmt.Errorf("request %d on a new connection to node %d: %w", turn+1, n.ID, errs[i])
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (c *callers) call(h *http.Client, url, value string) error {
	req, err := http.NewRequest(http.MethodPut, url, strings.NewReader(value))
	if err != nil {
		return err
	}
	rsp, err := h.Do(req)
	if err != nil {
		return err
	}
	defer rsp.Body.Close()
	if text, err := io.ReadAll(rsp.Body); err != nil || rsp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %s %w", rsp.StatusCode, text, err)
	}
	c.done.Add(1)
	return nil
}

// settle waits until so many requests more were answered.
func (c *callers) settle(ctx context.Context, more int64) error {
	for from, end := c.done.Load(), time.Now().Add(2*rotationTimeout); c.done.Load() < from+more; {
		if time.Now().After(end) || ctx.Err() != nil {
			return fmt.Errorf("%d requests on new connections, and no more come", c.done.Load())
		}
		cluster.Pause(ctx, 5*time.Millisecond)
	}
	return nil
}
