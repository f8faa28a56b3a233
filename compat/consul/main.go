// Command consul is the program of that name on the PATH of the tests of hashicorp/consul/api, which start it as a
// server. It starts kvnode and passes every request on unchanged, except three endpoints that Tenure has not: a catalog
// of nodes, their health, and certificates. The tests poll these until a server is up. It knows nothing of keys,
// sessions, locks or transactions.
//
// TENURE_KVNODE names the kvnode to run.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/hashicorp/consul/sdk/testutil"

	"tenure/internal/freeport"
)

// version is what the tests are told. They leave out settings that servers before 1.14 do not know.
const version = "1.20.0"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "consul (test shim):", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) > 0 && args[0] == "version":
		fmt.Printf("{\"Version\":%q}\n", version)
		return nil
	case len(args) == 3 && args[0] == "agent" && args[1] == "-config-file":
		return agent(args[2])
	}
	return fmt.Errorf("%q: there are only `version` and `agent -config-file FILE`", args)
}

// agent runs a node until it is interrupted.
func agent(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var cfg testutil.TestServerConfig
	if err := json.Unmarshal(text, &cfg); err != nil {
		return err
	}
	if cfg.ACL.Enabled || !cfg.Server {
		return errors.New("access control lists and agents that are no servers are beyond Tenure")
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	node, client, err := start(cfg.DataDir, cfg.NodeName)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", cfg.Ports.HTTP))
	if err != nil {
		return errors.Join(err, node.Process.Kill())
	}
	go func() { _ = http.Serve(l, front(&cfg, client)) }()
	ended := make(chan error, 1)
	go func() { ended <- node.Wait() }()
	select {
	case err := <-ended:
		return fmt.Errorf("kvnode ended: %w", err)
	case <-interrupted:
	}
	if err := node.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return <-ended
}

// start runs a cluster of one on ports of its own. It dies with this process.
func start(data, name string) (node *exec.Cmd, client string, err error) {
	first, err := freeport.Run(2)
	if err != nil {
		return nil, "", err
	}
	client = freeport.Address(first)
	node = exec.Command(os.Getenv("TENURE_KVNODE"), "--data", filepath.Join(data, "tenure"), "--client", client,
		"--peer", freeport.Address(first+1), "--node-name", name, "--log-level", "warn")
	node.Stdout, node.Stderr = os.Stdout, os.Stderr
	runtime.LockOSThread() // Pdeathsig follows the thread
	node.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	return node, client, node.Start()
}

// front passes requests on to the node. It compares whole paths, since a mux would tidy up those of keys.
func front(cfg *testutil.TestServerConfig, client string) http.Handler {
	type object = map[string]any
	answers := map[string]any{
		"/v1/catalog/nodes":               []object{{"Node": cfg.NodeName}},
		"/v1/health/node/" + cfg.NodeName: []object{{"CheckID": "serfHealth"}},
		"/v1/agent/connect/ca/roots":      object{"ActiveRootID": "none", "Roots": []object{{}}},
	}
	node := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: client})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if v, ok := answers[r.URL.Path]; ok && r.Method == http.MethodGet {
			_ = json.NewEncoder(w).Encode(v)
			return
		}
		node.ServeHTTP(w, r)
	})
}
