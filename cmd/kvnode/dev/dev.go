package dev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"tenure/internal/devcluster"
)

// Run starts the cluster and watches it until ctx ends; then it stops all nodes and returns nil. It fails if the
// cluster cannot be started, or if every node dies before the cluster was ready.
func Run(ctx context.Context, o Options) error {
	dir, err := filepath.Abs(o.Data)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, devcluster.TLSDir)); err == nil {
		o.TLS = true // as in the run before
	}
	if _, err := os.Stat(devcluster.TokenFile(dir)); err == nil {
		o.ACL = true
	}
	nodes, err := o.plan()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("%w; name a directory that can be made with --data", err)
	}
	session, err := openSession(dir)
	if err != nil {
		return err
	}
	defer session.Close()
	old, err := readState(dir)
	if err != nil {
		return err
	}
	changed := old != nil && old.Changed
	if changed {
		if nodes, err = o.planOf(old); err != nil {
			return err
		}
	}
	if err := checkEarlier(dir, old, len(nodes)); err != nil {
		return err
	}
	if err := checkFree(nodes); err != nil {
		return err
	}
	if err := makeFiles(nodes); err != nil {
		return err
	}
	binary, err := copyBinary(o.Binary, dir)
	if err != nil {
		return err
	}
	state := devcluster.State{Version: devcluster.StateVersion, Binary: binary, Nodes: nodes, Changed: changed}
	if err := devcluster.Replace(ctx, dir, &state); err != nil {
		return fmt.Errorf("write %s: %w", devcluster.StateName, err)
	}
	runtime.LockOSThread() // until the process ends: the children must not outlive it
	return newCluster(o, dir, binary, nodes).run(ctx)
}

// makeFiles makes the certificates and the secret of the first token, as far as the nodes are to have them.
func makeFiles(nodes []devcluster.Node) error {
	for i := range nodes {
		if n := &nodes[i]; n.CA != "" {
			if err := n.MakeFiles(); err != nil {
				return err
			}
		}
	}
	if token := nodes[0].Token; token != "" {
		return devcluster.MakeToken(token)
	}
	return nil
}

var errAllDead = errors.New("every node has ended before the cluster was ready; their logs tell why")
