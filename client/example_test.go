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

	revision, err := c.Put(ctx, "hello", []byte("world"), client.WriteOptions{})
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
func ExampleClient_CAS() {
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
			_, err = c.CAS(ctx, key, strconv.AppendUint(nil, n+1, 10), entry.ModifyIndex, client.WriteOptions{})
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
	_, err = c.Put(ctx, "order", []byte("42"), client.WriteOptions{})
	fmt.Println(errors.Is(err, client.ErrUnknown))

	cluster.Inject(func(clienttest.Request) clienttest.Fault { return clienttest.None })
	var unsettled *client.Error
	if errors.As(err, &unsettled) {
		_, err = c.Put(ctx, "order", []byte("42"), client.WriteOptions{Once: unsettled.Once})
	}
	fmt.Println(err, cluster.Applied())
	// Output:
	// true
	// <nil> 1
}
