package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/client"
	"tenure/internal/ballot"
	"tenure/internal/freeport"
	"tenure/server"
)

// realCluster runs nodes in this process and is a client of them. stop ends one.
func realCluster(t *testing.T, size int) (c *client.Client, stop func(node int)) {
	t.Helper()
	return realClusterOf(t, size, func(*server.Config) {})
}

// realClusterOf is realCluster with nodes of which change sets something.
func realClusterOf(t *testing.T, size int, change func(*server.Config)) (c *client.Client, stop func(node int)) {
	t.Helper()
	var dirs []string
	for range size {
		dirs = append(dirs, t.TempDir())
	}
	return runCluster(t, dirs, change)
}

// realClusterIn is realCluster with a node in each of the data directories. The client asks node 1 first.
func realClusterIn(t *testing.T, dirs []string) (c *client.Client, stop func(node int)) {
	t.Helper()
	return runCluster(t, dirs, func(*server.Config) {})
}

func runCluster(t *testing.T, dirs []string, change func(*server.Config)) (c *client.Client, stop func(node int)) {
	t.Helper()
	size := len(dirs)
	base, err := freeport.Run(2 * size)
	if err != nil {
		t.Fatal(err)
	}
	var list []server.Address
	var endpoints []string
	for i := range size {
		list = append(list, server.Address{Node: ballot.NodeID(i + 1), Addr: freeport.Address(base + i)})
		endpoints = append(endpoints, freeport.Address(base+size+i))
	}
	ends := make([]func(), size)
	for i := range size {
		cfg := server.Config{
			Node: list[i].Node, Cluster: list, Data: dirs[i], ClientAddr: endpoints[i], PeerAddr: list[i].Addr,
			LeaseTime: 2 * time.Second, MaxLeaseTime: 2 * time.Second, ClockDriftPPM: 10_000, LeaseMargin: 10 * time.Millisecond,
			MaxValueBytes: 1 << 20, SessionTTLMin: time.Second, Version: "test", Logger: zerolog.Nop(),
		}
		change(&cfg)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- server.Run(ctx, cfg) }()
		over := false
		ends[i] = func() {
			if cancel(); !over {
				over = true
				if err := <-done; err != nil {
					t.Errorf("node %d: %v", i+1, err)
				}
			}
		}
		t.Cleanup(ends[i])
	}
	c, err = client.New(client.Config{Endpoints: endpoints, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, func(node int) { ends[node-1]() }
}

func TestCommandsOnARealNode(t *testing.T) {
	c, _ := realCluster(t, 1)
	story(t, c)

	ctx := context.Background()
	fenced := client.WriteOptions{Fence: client.Fence{Name: "kv/job", Token: 7}}
	if _, err := c.Set(ctx, "k", []byte("v"), fenced); err != nil {
		t.Fatal(err)
	}
	if token, kept, err := c.Fences().Token(ctx, "kv/job", client.ReadOptions{}); token != 7 || !kept || err != nil {
		t.Fatalf("token %d %v %v", token, kept, err)
	}
	fenced.Fence.Token = 6
	for name, write := range map[string]func() error{
		"put":    func() error { _, err := c.Set(ctx, "k", nil, fenced); return err },
		"delete": func() error { _, err := c.Delete(ctx, "k", fenced); return err },
		"prune":  func() error { _, _, err := c.Prune(ctx, "k", fenced); return err },
		"rename": func() error { _, err := c.Rename(ctx, "k", "l", fenced); return err },
		"txn": func() error {
			_, err := c.Txn(ctx, []client.TxnOp{{Verb: client.TxnSet, Key: "k"}}, fenced)
			return err
		},
	} {
		if err := write(); kindOf(t, err) != client.ErrFenced {
			t.Errorf("%s under an old token: %v", name, err)
		}
	}
	if err := c.Fences().Drop(ctx, "kv/job", client.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if token, kept, err := c.Fences().Token(ctx, "kv/job", client.ReadOptions{}); token != 7 || kept || err != nil {
		t.Fatalf("dropped: token %d %v %v", token, kept, err)
	}
}

// A client finds the master among real nodes, and finds the next one when it hands over and when it stops.
func TestRealNodesNameTheMaster(t *testing.T) {
	c, stop := realCluster(t, 3)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	find := func(what string) (master uint64) {
		t.Helper()
		for {
			if _, err := c.Set(ctx, "k", nil, client.WriteOptions{}); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			st, err := c.Nodes().Status(ctx)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if st.Master != 0 && client.MasterEndpoint(c) == c.Endpoints()[st.Master-1] {
				return st.Master
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	first := find("at first")
	if err := c.Nodes().Transfer(ctx, 0); err != nil {
		t.Fatal(err)
	}
	second := find("handed over")
	for ; second == first; second = find("handed over") {
		time.Sleep(20 * time.Millisecond)
	}
	stop(int(second))
	for third := second; third == second; third = find("stopped") {
		time.Sleep(20 * time.Millisecond)
	}
}

// TestRealNodesAreWatchedAndLocked: a stream and a lock outlive one of three nodes.
func TestRealNodesAreWatchedAndLocked(t *testing.T) {
	c, stop := realCluster(t, 3)
	ctx, cancel := within(time.Minute)
	defer cancel()
	if _, err := c.Set(ctx, "d/0", nil, client.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	from, err := c.Revision(ctx)
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.Locks().Acquire(ctx, "job", client.LockOptions{Session: client.SessionOptions{TTL: 5 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 1)
	go func() {
		var got []string
		for e, err := range c.Watch(ctx, "d/", from) {
			if err != nil {
				got = append(got, err.Error())
				break
			}
			if got = append(got, string(e.Kind)+" "+e.Key); len(got) == 23 {
				break
			}
		}
		told <- strings.Join(got, ", ")
	}()
	var want []string
	write := func(kind string, keys []string, err error) {
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			want = append(want, kind+" "+k)
		}
	}
	for i := range 20 {
		if i == 10 {
			s, err := c.Nodes().Status(ctx)
			if err != nil {
				t.Fatal(err)
			}
			stop(int(s.Node)) // the stream goes to the endpoint that answers
		}
		key := fmt.Sprintf("d/%02d", i)
		_, err := c.Set(ctx, key, nil, client.WriteOptions{Fence: l.Fence()})
		write("set", []string{key}, err)
	}
	_, _, err = c.Prune(ctx, "d/0", client.WriteOptions{})
	write("delete", []string{"d/0", "d/00", "d/01"}, err)
	if got := <-told; got != strings.Join(want, ", ") {
		t.Errorf("%s; want %s", got, strings.Join(want, ", "))
	}
	if l.Err() != nil {
		t.Error(l.Err())
	}
	e, m, err := c.Get(ctx, "job", client.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { _ = l.Unlock(ctx) })
	next, err := c.Locks().Acquire(ctx, "job", client.LockOptions{Session: client.SessionOptions{TTL: 5 * time.Second}})
	if err != nil || next.Fence().Token <= l.Fence().Token {
		t.Fatalf("%v, tokens %v", err, l.Fence())
	}
	if after, _, err := c.GetWait(ctx, "job", m.Index, 0, client.ReadOptions{}); err != nil || after.ModifyIndex <= e.ModifyIndex {
		t.Errorf("%+v %v", after, err)
	}
	if err := next.Unlock(ctx); err != nil {
		t.Error(err)
	}
}

// TestABackupOfRealNodes comes from any node, also when one of them is gone.
func TestABackupOfRealNodes(t *testing.T) {
	c, stop := realCluster(t, 3)
	ctx, cancel := within(time.Minute)
	defer cancel()
	if _, err := c.Set(ctx, "k", []byte("v"), client.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	stop(1)
	body, err := c.Nodes().Backup(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(body)
	if err := errors.Join(err, body.Close()); err != nil || !strings.HasPrefix(string(b), "TENUREBK") {
		t.Errorf("%d bytes: %v", len(b), err)
	}
	stop(2)
	for err = nil; err == nil; { // a master gives one until its lease ends
		short, cancel := within(3 * time.Second)
		defer cancel()
		if body, err = c.Nodes().Backup(short); err == nil {
			body.Close()
		}
		if ctx.Err() != nil {
			t.Fatal("a node alone gives backups")
		}
	}
	if !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("without a majority: %v", err)
	}
}

// Once every node is drained there is no master: a write is not applied, and the error says why.
func TestEveryNodeIsDrained(t *testing.T) {
	c, _ := realCluster(t, 3)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := c.Set(ctx, "k", nil, client.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	for node := range uint64(3) {
		if err := c.Members().ForceDrain(ctx, node+1); err != nil {
			t.Fatal(err)
		}
	}
	for none := 0; none < 5; none++ { // one that wins the lease as it is drained hands it over within a second
		time.Sleep(300 * time.Millisecond)
		for _, e := range c.Endpoints() {
			if s, err := c.Nodes().StatusOf(ctx, e); err != nil || s.Master != 0 {
				none = 0
			}
		}
		if ctx.Err() != nil {
			t.Fatal("there is a master still")
		}
	}
	for _, timeout := range []time.Duration{time.Second, 3 * time.Second} {
		err := client.ErrUnknown
		for tries := 0; tries < 5 && errors.Is(err, client.ErrUnknown); tries++ { // a busy node may not answer in time
			short, cancel := context.WithTimeout(ctx, timeout)
			_, err = c.Set(short, "k", nil, client.WriteOptions{})
			cancel()
		}
		var none *client.NoMasterError
		if !errors.Is(err, client.ErrNotApplied) || !errors.As(err, &none) || !none.Drained || none.Answering != 3 ||
			!strings.Contains(err.Error(), "every node is drained") {
			t.Errorf("within %v: %v", timeout, err)
		}
	}
	if err := c.Members().Drain(ctx, 2, true); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Set(ctx, "k", nil, client.WriteOptions{}); err != nil {
		t.Error(err)
	}
}

// A node that has lost the others before its first write says only once that nothing was applied.
func TestNotAppliedIsSaidOnce(t *testing.T) {
	c, stop := realCluster(t, 3)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := c.Set(ctx, "k", nil, client.WriteOptions{}); err != nil { // through node 1
		t.Fatal(err)
	}
	stop(1)
	stop(2)
	last, err := client.New(client.Config{Endpoints: c.Endpoints()[2:3], NoLearning: true})
	if err != nil {
		t.Fatal(err)
	}
	defer last.Close()
	for {
		s, err := last.Nodes().Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if s.Master == 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err = last.Set(short, "k", nil, client.WriteOptions{})
	if !errors.Is(err, client.ErrNotApplied) || strings.Count(err.Error(), "not applied") != 1 {
		t.Error(err)
	}
}
