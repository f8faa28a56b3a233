package client_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"tenure/client"
	"tenure/client/clienttest"
)

// connect returns a client of a cluster of n nodes that runs in this process. A program uses the addresses of its nodes.
func connect(n int) (c *client.Client, cluster *clienttest.Cluster, closeBoth func()) {
	cluster = clienttest.Start(n)
	c, err := client.New(client.Config{Endpoints: cluster.Endpoints(), Timeout: 5 * time.Second})
	if err != nil {
		panic(err)
	}
	return c, cluster, func() { c.Close(); cluster.Close() }
}

func Example() {
	cluster := clienttest.Start(3) // for this example; a real one: kvnode dev
	defer cluster.Close()

	c, err := client.New(client.Config{Endpoints: cluster.Endpoints()})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	revision, err := c.Set(ctx, "hello", []byte("world"), client.WriteOptions{})
	fmt.Println(revision, err)
	entry, _, err := c.Get(ctx, "hello", client.ReadOptions{})
	fmt.Printf("%s %v\n", entry.Value, err)
	_, _, err = c.Get(ctx, "nothing", client.ReadOptions{Mode: client.Stale})
	fmt.Println(errors.Is(err, client.ErrNotFound))
	// Output:
	// 2 <nil>
	// world <nil>
	// true
}

// A counter that many clients may increment at once: read it, write it if nobody else has, or else begin again.
func ExampleClient_CompareAndSet() {
	c, _, closeBoth := connect(1)
	defer closeBoth()

	increment := func(ctx context.Context, key string) (uint64, error) {
		for {
			entry, _, err := c.Get(ctx, key, client.ReadOptions{}) // the ModifyIndex of an absent key is 0
			if err != nil && !errors.Is(err, client.ErrNotFound) {
				return 0, err
			}
			n, _ := strconv.ParseUint(string(entry.Value), 10, 64)
			value := strconv.AppendUint(nil, n+1, 10)
			_, err = c.CompareAndSet(ctx, key, value, entry.ModifyIndex, client.WriteOptions{})
			if !errors.Is(err, client.ErrCondition) {
				return n + 1, err
			}
		}
	}
	for range 3 {
		fmt.Println(increment(context.Background(), "visits"))
	}
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 3 <nil>
}

func ExampleClient_Add() {
	c, cluster, closeBoth := connect(1)
	defer closeBoth()
	cluster.Set("visits", "41")

	n, _, err := c.Add(context.Background(), "visits", 1, client.WriteOptions{})
	fmt.Println(n, err)
	// Output: 42 <nil>
}

// A write whose outcome is unknown can be settled later: with its Once it is applied at most once, whoever sends it.
func ExampleError_once() {
	c, cluster, closeBoth := connect(1)
	defer closeBoth()
	cluster.Inject(func(r clienttest.Request) clienttest.Fault {
		if r.IsWrite() {
			return clienttest.DropApplied // every answer is lost
		}
		return clienttest.None
	})

	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_, err := c.Set(ctx, "order", []byte("42"), client.WriteOptions{})
	fmt.Println(errors.Is(err, client.ErrUnknown))

	cluster.Inject(func(clienttest.Request) clienttest.Fault { return clienttest.None })
	var unsettled *client.Error
	if errors.As(err, &unsettled) {
		o := client.WriteOptions{Once: unsettled.Once}
		_, err = c.Set(context.Background(), "order", []byte("42"), o)
	}
	fmt.Println(err, cluster.Applied())
	// Output:
	// true
	// <nil> 1
}

// A copy of a part of the store that is kept up to date: list it once, and apply every change from there on.
func ExampleClient_Watch() {
	c, cluster, closeBoth := connect(3)
	defer closeBoth()
	cluster.Set("jobs/1", "new")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	jobs := map[string]string{}
	list := func() uint64 {
		entries, meta, err := c.List(ctx, "jobs/", client.ListOptions{})
		if err != nil {
			panic(err)
		}
		clear(jobs)
		for _, e := range entries {
			jobs[e.Key] = string(e.Value)
		}
		return meta.Revision
	}
	listed := list()
	cluster.Set("jobs/2", "new")
	cluster.Delete("jobs/1")
	for event, err := range c.Watch(ctx, "jobs/", listed) {
		switch {
		case err != nil:
			panic(err)
		case event.Kind == client.EventCompacted:
			listed = list()
		case event.Index <= listed: // the listing has it
		case event.Kind == client.EventSet:
			jobs[event.Key] = string(event.Entry.Value)
		case event.Kind == client.EventDelete:
			delete(jobs, event.Key)
		}
		if event.Kind == client.EventDelete {
			break // for this example
		}
	}
	fmt.Println(jobs)
	// Output: map[jobs/2:new]
}

// Waiting for a change of one key.
func ExampleClient_GetWait() {
	c, cluster, closeBoth := connect(1)
	defer closeBoth()
	cluster.Set("config", "1")

	ctx := context.Background()
	entry, meta, err := c.Get(ctx, "config", client.ReadOptions{})
	fmt.Printf("%s %v\n", entry.Value, err)
	time.AfterFunc(10*time.Millisecond, func() { cluster.Set("config", "2") })
	entry, _, err = c.GetWait(ctx, "config", meta.Index, time.Minute, client.ReadOptions{})
	fmt.Printf("%s %v\n", entry.Value, err)
	// Output:
	// 1 <nil>
	// 2 <nil>
}

// A purchase: both balances change or none does, and only if nobody has changed the price.
func ExampleClient_Txn() {
	c, cluster, closeBoth := connect(1)
	defer closeBoth()
	cluster.Set("alice", "10")
	cluster.Set("bob", "0")
	cluster.Set("price", "7")

	buy := []client.TxnOp{
		{Verb: client.TxnCheckValue, Key: "price", Value: []byte("7")},
		{Verb: client.TxnAdd, Key: "alice", Num: -7},
		{Verb: client.TxnAdd, Key: "bob", Num: 7},
	}
	result, err := c.Txn(context.Background(), buy, client.WriteOptions{})
	fmt.Printf("%s %s %v\n", result.Entries[1].Value, result.Entries[2].Value, err)

	cluster.Set("price", "8")
	_, err = c.Txn(context.Background(), buy, client.WriteOptions{})
	var failed *client.TxnError
	fmt.Println(errors.Is(err, client.ErrCondition), errors.As(err, &failed), failed.Failed[0].Op)
	// Output:
	// 3 7 <nil>
	// true true 0
}
