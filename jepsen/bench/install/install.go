// Package install measures for how long an upload of the largest snapshot that a running cluster takes holds up other
// requests, as their clients see it.
//
//   - install.go: the configuration, the data and the uploads
//   - probe.go: the requests meanwhile
//   - report.go: the figures
package install

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/jepsen/bench"
	"tenure/jepsen/cluster"
)

// Config says what to measure.
type Config struct {
	bench.Setup
	Keys       int // in the snapshot
	ValueBytes int // of each key
	Trials     int // uploads, one after another
}

const (
	// maxKeys and maxBytes are somewhat below what an upload may have: it has the probes' keys besides.
	maxKeys  = 9_990
	maxBytes = 15 << 19
	// quietFor is how long the probes run before each upload, to know what they take without one.
	quietFor = time.Second
	// uploadFor bounds an upload.
	uploadFor = 2 * time.Minute
)

// Validate returns an error that says what is out of range.
func (c *Config) Validate() error {
	switch {
	case c.Nodes < 1 || c.Nodes > bench.MaxNodes || c.Trials < 1 || c.Trials > 1000:
		return fmt.Errorf("%d nodes, %d uploads: out of range", c.Nodes, c.Trials)
	case c.Keys < 1 || c.Keys > maxKeys || c.ValueBytes < 0 || c.ValueBytes > 500_000 || c.Keys*c.ValueBytes > maxBytes:
		return fmt.Errorf("%d keys of %d bytes: at most %d keys, and %d bytes together", c.Keys, c.ValueBytes, maxKeys,
			maxBytes)
	}
	return nil
}

// Run fills a cluster, saves a snapshot of it, and uploads that again and again.
func Run(ctx context.Context, c Config) (r Report, err error) {
	if err := c.Validate(); err != nil {
		return r, err
	}
	if err := c.Build(ctx); err != nil {
		return r, err
	}
	nodes, err := c.Cluster(nil)
	if err != nil {
		return r, err
	}
	if err := bench.Start(ctx, nodes); err != nil {
		return r, err
	}
	defer nodes.Stop(2 * time.Second)
	snapshot, err := c.fill(ctx, nodes)
	if err != nil {
		return r, err
	}
	r = Report{Head: bench.NewHead(), Nodes: c.Nodes, Keys: c.Keys, ValueBytes: c.ValueBytes}
	for n := range c.Trials {
		t, err := trial(ctx, nodes, snapshot)
		if err != nil {
			return r, fmt.Errorf("upload %d: %w", n+1, err)
		}
		r.Trials = append(r.Trials, t)
		fmt.Fprintf(c.Out, "upload %d of %d: %.2f s\n", n+1, c.Trials, t.UploadSeconds)
	}
	return r, nil
}

// fill writes what the snapshot is to have, and returns the snapshot.
func (c *Config) fill(ctx context.Context, nodes *cluster.Cluster) ([]byte, error) {
	all, err := client.New(client.Config{Endpoints: nodes.Endpoints(), Timeout: 30 * time.Second})
	if err != nil {
		return nil, err
	}
	defer all.Close()
	value := make([]byte, c.ValueBytes)
	for i := range c.Keys {
		if _, err := all.Set(ctx, fmt.Sprintf("k%06d", i), value, client.WriteOptions{}); err != nil {
			return nil, err
		}
	}
	if _, err := all.Set(ctx, readKey, nil, client.WriteOptions{}); err != nil {
		return nil, err
	}
	snapshot, _, err := exchange(ctx, http.MethodGet, nodes.Endpoints()[0]+api.PathSnapshot, nil)
	return snapshot, err
}

// trial uploads the snapshot once, through the first node, while every node is probed.
func trial(ctx context.Context, nodes *cluster.Cluster, snapshot []byte) (t Trial, err error) {
	ctx, cancel := context.WithTimeout(ctx, uploadFor)
	defer cancel()
	p := startProbes(ctx, nodes.Endpoints())
	defer p.end()
	if !cluster.Pause(ctx, quietFor) {
		return t, ctx.Err()
	}
	began := time.Now()
	_, header, err := exchange(ctx, http.MethodPut, nodes.Endpoints()[0]+api.PathSnapshot, snapshot)
	if err != nil {
		return t, err
	}
	ended := time.Now()
	if err := p.passed(ctx, revision(header)); err != nil {
		return t, err
	}
	if err := p.end(); err != nil {
		return t, err
	}
	return p.trial(began, ended, revision(header)), nil
}

// exchange makes a request that must succeed, and returns body and header of its answer.
func exchange(ctx context.Context, method, url string, body []byte) ([]byte, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	rsp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer rsp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(rsp.Body, 2*maxBytes))
	if err == nil && rsp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %.300s", method, url, rsp.Status, text)
	}
	return text, rsp.Header, err
}

func revision(h http.Header) (n uint64) {
	_, _ = fmt.Sscan(h.Get(api.HeaderRevision), &n)
	return n
}
