package dev

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"tenure/api"
	"tenure/client/clienttest"
)

// fakeEnv makes this test binary a node (its value is how it behaves) or a supervisor.
const fakeEnv = "TENURE_FAKE_NODE"

// How a fake node behaves.
const (
	sound      = "sound"
	stubborn   = "stubborn"   // ignores SIGTERM
	stillborn  = "stillborn"  // says why and dies at once
	supervisor = "supervisor" // runs three sound nodes until it is killed; its first arguments are ports and directory
)

func TestMain(m *testing.M) {
	switch how := os.Getenv(fakeEnv); how {
	case "":
		os.Exit(m.Run())
	case supervisor:
		os.Exit(fakeSupervisor())
	default:
		os.Exit(fakeNode(how))
	}
}

func arg(name string) string {
	for i, a := range os.Args {
		if a == name && i+1 < len(os.Args) {
			return os.Args[i+1]
		}
	}
	return ""
}

// fakeNode serves what the supervisor asks for. The node that the file "master" beside its data names is master.
func fakeNode(how string) int {
	fmt.Println("fake node", arg("--id"), "says hello")
	if how == stillborn {
		fmt.Println("the disk is full of eels")
		return 3
	}
	id := arg("--id")
	http.HandleFunc("/health/ready", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("/v1/status", func(w http.ResponseWriter, _ *http.Request) {
		s := api.Status{Node: 1, Role: "follower", Epoch: 7, Revision: 1}
		if b, err := os.ReadFile(filepath.Join(filepath.Dir(arg("--data")), "master")); err == nil &&
			strings.TrimSpace(string(b)) == id {
			s.Role = "master"
		}
		_ = json.NewEncoder(w).Encode(s)
	})
	if slices.Contains(os.Args, "--acl") {
		tokens := clienttest.New(1)
		tokens.RequireTokens()
		http.Handle(api.PathACL, tokens.Node(1).Handler())
	}
	if how == stubborn {
		signal.Ignore(syscall.SIGTERM)
	}
	stop := make(chan os.Signal, 1)
	if how == sound {
		signal.Notify(stop, syscall.SIGTERM)
	}
	failed := make(chan error, 1)
	go func() { failed <- http.ListenAndServe(arg("--client"), nil) }()
	select {
	case <-stop:
		fmt.Println("fake node", id, "stops in order")
		return 0
	case err := <-failed:
		fmt.Println(err)
		return 1
	}
}

func fakeSupervisor() int {
	os.Setenv(fakeEnv, sound)
	base, _ := strconv.Atoi(os.Args[1])
	err := Run(context.Background(), Options{
		Nodes: 3, Data: os.Args[2], BasePort: base, PeerBasePort: base + 10, Binary: os.Args[0], Out: os.Stdout,
		Check: func([]string) error { return nil },
	})
	fmt.Println(err)
	return 1
}
