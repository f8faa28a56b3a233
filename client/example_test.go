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

func Example() {
	cluster := clienttest.Start(3) // in earnest: kvnode dev
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

// A counter that many may raise at once: read, write if nobody else has, else again.
func ExampleClient_CompareAndSet() {
	cluster := clienttest.Start(1)
	defer cluster.Close()
	c, err := client.New(client.Config{Endpoints: cluster.Endpoints()})
	if err != nil {
		panic(err)
	}
	defer c.Close()

	increment := func(ctx context.Context, key string) (uint64, error) {
		for {
			entry, _, err := c.Get(ctx, key, client.ReadOptions{}) // an absent key has index 0
			if err != nil && !errors.Is(err, client.ErrNotFound) {
				return 0, err
			}
			n, _ := strconv.ParseUint(string(entry.Value), 10, 64)
			_, err = c.CompareAndSet(ctx, key, strconv.AppendUint(nil, n+1, 10), entry.ModifyIndex, client.WriteOptions{})
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

// A write whose outcome is unknown can be settled later: with its Once it is applied at most once, whoever sends it.
func ExampleError_once() {
	cluster := clienttest.Start(1)
	defer cluster.Close()
	c, err := client.New(client.Config{Endpoints: cluster.Endpoints(), Timeout: 200 * time.Millisecond})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	cluster.Inject(func(r clienttest.Request) clienttest.Fault {
		if r.IsWrite() {
			return clienttest.DropApplied // every answer is lost
		}
		return clienttest.None
	})

	ctx := context.Background()
	_, err = c.Set(ctx, "order", []byte("42"), client.WriteOptions{})
	fmt.Println(errors.Is(err, client.ErrUnknown))

	cluster.Inject(func(clienttest.Request) clienttest.Fault { return clienttest.None })
	var unsettled *client.Error
	if errors.As(err, &unsettled) {
		_, err = c.Set(ctx, "order", []byte("42"), client.WriteOptions{Once: unsettled.Once})
	}
	fmt.Println(err, cluster.Applied())
	// Output:
	// true
	// <nil> 1
}

// One process at a time: the work stops when the lock is lost, and its writes are refused once a successor has written.
func ExampleLocks_Acquire() {
	cluster := clienttest.Start(3)
	defer cluster.Close()
	c, err := client.New(client.Config{Endpoints: cluster.Endpoints()})
	if err != nil {
		panic(err)
	}
	defer c.Close()

	ctx := context.Background()
	lock, err := c.Locks().Acquire(ctx, "jobs/nightly", client.LockOptions{Session: client.SessionOptions{TTL: 10 * time.Second}})
	if err != nil {
		panic(err)
	}
	work, stop := context.WithCancel(ctx)
	go func() { <-lock.Lost(); stop() }()

	_, err = c.Set(work, "report", []byte("done"), client.WriteOptions{Fence: lock.Fence()})
	fmt.Println(err, lock.Err())
	fmt.Println(lock.Unlock(ctx))
	// Output:
	// <nil> <nil>
	// <nil>
}

// A list that is kept up to date: read it once, and take every change from there on.
func ExampleClient_Watch() {
	cluster := clienttest.Start(3)
	defer cluster.Close()
	cluster.Set("jobs/1", "new")
	c, err := client.New(client.Config{Endpoints: cluster.Endpoints()})
	if err != nil {
		panic(err)
	}
	defer c.Close()
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
	seen := list()
	cluster.Set("jobs/2", "new")
	cluster.Delete("jobs/1")
	for event, err := range c.Watch(ctx, "jobs/", seen) {
		switch {
		case err != nil:
			panic(err)
		case event.Kind == client.EventCompacted:
			seen = list()
		case event.Index <= seen: // the listing had it
		case event.Kind == client.EventSet:
			jobs[event.Key] = string(event.Entry.Value)
		case event.Kind == client.EventDelete:
			delete(jobs, event.Key)
		}
		if event.Kind == client.EventDelete {
			break // in earnest: never
		}
	}
	fmt.Println(jobs)
	// Output: map[jobs/2:new]
}

// A transfer: both changes or none, and only if nobody has changed the price.
func ExampleClient_Txn() {
	cluster := clienttest.Start(1)
	defer cluster.Close()
	cluster.Set("alice", "10")
	cluster.Set("bob", "0")
	cluster.Set("price", "7")
	c, err := client.New(client.Config{Endpoints: cluster.Endpoints()})
	if err != nil {
		panic(err)
	}
	defer c.Close()

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

// Waiting for one key without a stream.
func ExampleClient_GetWait() {
	cluster := clienttest.Start(1)
	defer cluster.Close()
	cluster.Set("config", "1")
	c, err := client.New(client.Config{Endpoints: cluster.Endpoints()})
	if err != nil {
		panic(err)
	}
	defer c.Close()

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

func ExampleClient_Add() {
	cluster := clienttest.Start(1)
	defer cluster.Close()
	cluster.Set("visits", "41")
	c, err := client.New(client.Config{Endpoints: cluster.Endpoints()})
	if err != nil {
		panic(err)
	}
	defer c.Close()

	n, _, err := c.Add(context.Background(), "visits", 1, client.WriteOptions{})
	fmt.Println(n, err)
	// Output: 42 <nil>
}

// A lease is held while the work goes on. What the work writes carries the lease's fence.
func ExampleLeases_Acquire() {
	cluster := clienttest.Start(3)
	defer cluster.Close()
	c, err := client.New(client.Config{Endpoints: cluster.Endpoints()})
	if err != nil {
		panic(err)
	}
	defer c.Close()

	lease, err := c.Leases().Acquire(context.Background(), "jobs/nightly", client.LeaseOptions{
		Owner: "worker 7", TTL: 5 * time.Second, Wait: time.Minute,
	})
	if err != nil {
		panic(err) // errors.Is(err, client.ErrBusy): somebody else holds it
	}
	work, stop := context.WithCancel(context.Background())
	defer stop()
	go func() { // ends what is under way when the lease is lost
		<-lease.Lost()
		stop()
	}()
	for i := range 3 {
		if !lease.Held() {
			break
		}
		_, err := c.Set(work, "report", []byte(strconv.Itoa(i)), client.WriteOptions{Fence: lease.Fence()})
		fmt.Println(i, err)
	}
	var busy *client.BusyError
	if _, err := c.Leases().Acquire(work, "jobs/nightly", client.LeaseOptions{}); errors.As(err, &busy) {
		fmt.Println("held by", busy.Owner)
	}
	fmt.Println(lease.Release(context.Background()), lease.Held())
	// Output:
	// 0 <nil>
	// 1 <nil>
	// 2 <nil>
	// held by worker 7
	// <nil> false
}
