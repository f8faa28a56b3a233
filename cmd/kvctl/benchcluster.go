package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"tenure/client"
	"tenure/cmd/kvctl/sweep"
)

const (
	benchReady = time.Minute            // a cluster has so long to get a master
	benchStop  = 20 * time.Second       // and so long to end
	benchPoll  = 100 * time.Millisecond // between two looks
)

// findKvnode is the program to start, as an absolute path.
func (s *benchSweep) findKvnode() (string, error) {
	if s.kvnode != "" {
		if _, err := exec.LookPath(s.kvnode); err != nil {
			return "", usage("--kvnode %s: %v", s.kvnode, err)
		}
		return filepath.Abs(s.kvnode)
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "kvnode")
		if _, err := exec.LookPath(beside); err == nil {
			return beside, nil
		}
	}
	path, err := exec.LookPath("kvnode")
	if err != nil {
		return "", usage("there is no kvnode beside kvctl or in PATH: build both with go build -o bin/ ./cmd/..., or give --kvnode")
	}
	return filepath.Abs(path)
}

// benchCluster is `kvnode dev` as a child of this process.
type benchCluster struct {
	cmd   *exec.Cmd
	dir   string
	log   string
	ended chan error
}

// startBenchCluster starts a fresh cluster and waits until every node knows a master that is ready.
func startBenchCluster(ctx context.Context, kvnode, data string, nodes, port, peerPort int) (sweep.Cluster, error) {
	dir, err := os.MkdirTemp(data, "kvctl-bench-")
	if err != nil {
		return sweep.Cluster{}, err
	}
	c := &benchCluster{dir: dir, log: filepath.Join(dir, "dev.log"), ended: make(chan error, 1)}
	endpoints, err := c.start(ctx, kvnode, nodes, port, peerPort)
	if err != nil {
		return sweep.Cluster{}, errors.Join(err, c.stop())
	}
	return sweep.Cluster{Endpoints: endpoints, Stop: c.stop}, nil
}

func (c *benchCluster) start(ctx context.Context, kvnode string, nodes, port, peerPort int) ([]string, error) {
	log, err := os.Create(c.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own
	cmd := exec.Command(kvnode, "dev", "--nodes", strconv.Itoa(nodes), "--data", filepath.Join(c.dir, "data"),
		"--base-port", strconv.Itoa(port), "--peer-base-port", strconv.Itoa(peerPort))
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c.cmd = cmd
	go func() { c.ended <- cmd.Wait() }()
	var endpoints []string
	for i := range nodes {
		endpoints = append(endpoints, fmt.Sprintf("http://127.0.0.1:%d", port+i))
	}
	return endpoints, c.await(ctx, endpoints)
}

// await waits until all nodes answer and agree on a master that is one.
func (c *benchCluster) await(ctx context.Context, endpoints []string) error {
	api, err := client.New(client.Config{Endpoints: endpoints})
	if err != nil {
		return err
	}
	defer api.Close()
	ctx, cancel := context.WithTimeout(ctx, benchReady)
	defer cancel()
	tick := time.NewTicker(benchPoll)
	defer tick.Stop()
	for {
		if s := takeSurvey(ctx, api); s.answering() == len(endpoints) {
			if m, ok := s.master(); ok && m.Node != 0 && len(s.clusters()) == 1 {
				return nil
			}
		}
		select {
		case err := <-c.ended:
			c.cmd = nil
			return fmt.Errorf("kvnode dev has ended at once (%v): %s", err, tailText(c.log))
		case <-ctx.Done():
			return fmt.Errorf("the cluster has no master: %w: %s", ctx.Err(), tailText(c.log))
		case <-tick.C:
		}
	}
}

// tailText is the end of a log.
func tailText(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	const most = 2000
	return string(b[max(0, len(b)-most):])
}

// stop ends the cluster, in order if that works, and removes its data.
func (c *benchCluster) stop() error {
	var err error
	if c.cmd != nil {
		_ = c.cmd.Process.Signal(os.Interrupt) // where there is no such thing, Kill follows
		select {
		case <-c.ended:
		case <-time.After(benchStop):
			err = fmt.Errorf("kvnode dev (pid %d) did not stop within %v; it was killed", c.cmd.Process.Pid, benchStop)
			_ = c.cmd.Process.Kill()
			<-c.ended
		}
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}
