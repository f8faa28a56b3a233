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

// One process at a time: the work stops when the lock is lost, and its writes are refused once a successor has written.
func ExampleLocks_Acquire() {
	c, _, closeBoth := connect(3)
	defer closeBoth()

	ctx := context.Background()
	o := client.LockOptions{Session: client.SessionOptions{TTL: 10 * time.Second}}
	lock, err := c.Locks().Acquire(ctx, "jobs/nightly", o) // waits until it is free
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

// Two processes at a time.
func ExampleLocks_AcquireSemaphore() {
	c, _, closeBoth := connect(3)
	defer closeBoth()

	ctx := context.Background()
	o := client.SemaphoreOptions{Limit: 2, Try: true}
	var held []*client.Semaphore
	for range 3 {
		place, err := c.Locks().AcquireSemaphore(ctx, "workers", o)
		if errors.Is(err, client.ErrCondition) {
			fmt.Println("all places are held")
			continue
		}
		held = append(held, place)
	}
	for _, place := range held {
		fmt.Println(place.Release(ctx))
	}
	// Output:
	// all places are held
	// <nil>
	// <nil>
}

// One session for several locks. It is renewed until it is closed.
func ExampleSessions_Start() {
	c, _, closeBoth := connect(3)
	defer closeBoth()

	ctx := context.Background()
	session, err := c.Sessions().Start(ctx, client.SessionOptions{Name: "importer", TTL: 10 * time.Second})
	if err != nil {
		panic(err)
	}
	for _, key := range []string{"tables/a", "tables/b"} {
		if _, err := session.Lock(ctx, key, client.LockOptions{}); err != nil {
			panic(err)
		}
	}
	details, _, err := c.Sessions().Details(ctx, session.ID(), client.ReadOptions{})
	fmt.Println(details.Name, details.Keys, err)
	fmt.Println(session.Close(ctx)) // ends its locks too
	// Output:
	// importer [tables/a tables/b] <nil>
	// <nil>
}

// A lease is renewed while the work goes on. What the work writes carries the fence of the lease.
func ExampleLeases_Acquire() {
	c, _, closeBoth := connect(3)
	defer closeBoth()

	lease, err := c.Leases().Acquire(context.Background(), "jobs/nightly", client.LeaseOptions{
		Owner: "worker 7", TTL: 5 * time.Second, Wait: time.Minute,
	})
	if err != nil {
		panic(err) // errors.Is(err, client.ErrBusy): somebody else holds it
	}
	work, stop := context.WithCancel(context.Background())
	defer stop()
	go func() { // ends calls in flight when the lease is lost
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

// A grant can be renewed and released by another process: it needs only the LeaseGrant.
func ExampleLeases_Grant() {
	c, _, closeBoth := connect(3)
	defer closeBoth()

	ctx := context.Background()
	grant, err := c.Leases().Grant(ctx, "printer", client.LeaseOptions{Owner: "me", TTL: time.Minute})
	fmt.Println(grant.Left > 50*time.Second, err)
	grant, err = c.Leases().Renew(ctx, grant)
	fmt.Println(grant.Left > 50*time.Second, err)
	fmt.Println(c.Leases().Release(ctx, grant))
	// Output:
	// true <nil>
	// true <nil>
	// <nil>
}

// The store keeps the largest token that it has seen, and refuses writes with a smaller one.
func ExampleFences_Token() {
	c, _, closeBoth := connect(3)
	defer closeBoth()

	ctx := context.Background()
	older, newer := client.Fence{Name: "lease/printer", Token: 7}, client.Fence{Name: "lease/printer", Token: 8}
	_, err := c.Set(ctx, "page", []byte("1"), client.WriteOptions{Fence: newer})
	fmt.Println(err)
	_, err = c.Set(ctx, "page", []byte("0"), client.WriteOptions{Fence: older})
	fmt.Println(errors.Is(err, client.ErrFenced))
	fmt.Println(c.Fences().Token(ctx, "lease/printer", client.ReadOptions{}))

	fmt.Println(c.Fences().Drop(ctx, "lease/printer", client.WriteOptions{})) // 8 is the floor of all such fences now
	fmt.Println(c.Fences().Token(ctx, "lease/printer", client.ReadOptions{}))
	// Output:
	// <nil>
	// true
	// 8 true <nil>
	// <nil>
	// 8 false <nil>
}

// The master and how far the node that answers has come.
func ExampleNodes_Status() {
	c, cluster, closeBoth := connect(3)
	defer closeBoth()
	cluster.Set("a", "1")

	status, err := c.Nodes().Status(context.Background())
	fmt.Println(status.Master, status.Revision, err)
	fmt.Println(c.Nodes().Transfer(context.Background(), 2))
	status, err = c.Nodes().Status(context.Background())
	fmt.Println(status.Master, err)
	// Output:
	// 1 2 <nil>
	// <nil>
	// 2 <nil>
}

// Remove a member, and wait until that is done. Whoever gets ErrUnknown asks again with the Operation of the error.
func ExampleMembers_Remove() {
	c, _, closeBoth := connect(3)
	defer closeBoth()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	plan, err := c.Members().Plan(ctx, client.ChangeRemove, client.MemberChange{Node: 3})
	fmt.Println(plan.Before.Failures, plan.After.Failures, err)
	op, err := c.Members().Remove(ctx, client.MemberChange{Node: 3})
	fmt.Println(op.Kind, op.Node, err)
	op, err = c.Members().Wait(ctx, op.ID, nil)
	fmt.Println(op.State, err)
	// Output:
	// 1 0 <nil>
	// remove 3 <nil>
	// done <nil>
}

// Make a policy and a token for a program. Only this answer has the secret; the cluster keeps a hash.
func ExampleACL_CreateToken() {
	cluster := clienttest.Start(1)
	defer cluster.Close()
	cluster.RequireTokens()
	cluster.AddToken(client.Token{SecretID: "root", Policies: []client.PolicyLink{{Name: "global-management"}}})
	c, err := client.New(client.Config{Endpoints: cluster.Endpoints(), Token: "root"})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	ctx := context.Background()

	_, err = c.ACL().CreatePolicy(ctx, client.PolicySpec{
		Name:  "app",
		Rules: `key_prefix "app/" { policy = "write" }`,
	}, client.WriteOptions{})
	fmt.Println(err)
	token, err := c.ACL().CreateToken(ctx, client.TokenSpec{
		Description: "the app on host 7",
		Policies:    []client.PolicyLink{{Name: "app"}},
		TTL:         24 * time.Hour,
	}, client.WriteOptions{})
	fmt.Println(len(token.SecretID), token.Policies[0].Name, err)

	_, _, err = c.ACL().Token(ctx, token.AccessorID, client.ReadOptions{})
	fmt.Println(err)
	fmt.Println(c.ACL().DeleteToken(ctx, token.AccessorID, client.WriteOptions{}))
	// Output:
	// <nil>
	// 36 app <nil>
	// <nil>
	// <nil>
}
