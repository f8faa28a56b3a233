package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"tenure/client"
)

// TestRealNodesGrantLeases: leases outlive one of three nodes, also those that somebody queues for, and their tokens
// fence writes.
func TestRealNodesGrantLeases(t *testing.T) {
	c, stop := realCluster(t, 3)
	ctx, cancel := within(time.Minute)
	defer cancel()
	held := map[string]*client.Lease{}
	leases := 300
	if testing.Short() { // renewals of 300 were seen to wait for 2 s under the race detector, on a machine that others use
		leases = 30
	}
	for i := range leases {
		name := fmt.Sprintf("a/%03d acquire", i)
		l, err := c.Leases().Acquire(ctx, name, client.LeaseOptions{Owner: "me", TTL: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		held[name] = l
	}
	first := held["a/000 acquire"]
	// Not every node needs to know of a lease at once, and a renewal that is on its way may raise the token.
	info, err := c.Leases().Info(ctx, first.Name())
	for (errors.Is(err, client.ErrNotFound) || err == nil && info.Token != first.Token()) && ctx.Err() == nil {
		info, err = c.Leases().Info(ctx, first.Name())
	}
	if err != nil || info.Owner != "me" || info.Token != first.Token() || info.Remaining <= 0 {
		t.Fatalf("%+v, %v; held here: %v, %v", info, err, first.Held(), first.Err())
	}
	var busy *client.BusyError
	if _, err := c.Leases().Acquire(ctx, first.Name(), client.LeaseOptions{TTL: time.Second}); !errors.As(err, &busy) || busy.Owner != "me" || busy.RetryAfter <= 0 {
		t.Fatalf("a second owner: %v", err)
	}
	if _, err := c.Set(ctx, "k", nil, client.WriteOptions{Fence: first.Fence()}); err != nil {
		t.Fatal(err)
	}
	next := make(chan *client.Lease, 1)
	go func() {
		l, err := c.Leases().Acquire(ctx, first.Name(), client.LeaseOptions{TTL: 2 * time.Second, Wait: client.NoWaitLimit})
		if err != nil {
			t.Error(err)
		}
		next <- l
	}()
	s, err := c.Nodes().Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stop(int(s.Node))           // through which all was done so far
	time.Sleep(3 * time.Second) // longer than any TTL
	for name, l := range held {
		if !l.Held() {
			t.Fatalf("%s: %v", name, l.Err())
		}
	}
	if err := first.Release(ctx); err != nil {
		t.Fatal(err)
	}
	l := <-next
	if l == nil || !l.Held() || l.Token() <= first.Token() {
		t.Fatalf("the next one: %+v", l)
	}
	if _, err := c.Set(ctx, "k", nil, client.WriteOptions{Fence: l.Fence()}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Set(ctx, "k", nil, client.WriteOptions{Fence: first.Fence()}); kindOf(t, err) != client.ErrFenced {
		t.Fatalf("under the first one's token: %v", err)
	}
	time.Sleep(2 * time.Second)
	if err := l.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Leases().Info(ctx, l.Name()); kindOf(t, err) != client.ErrNotFound {
		t.Errorf("released: %v", err)
	}
	for _, l := range held {
		_ = l.Release(ctx)
	}
}

func TestGrantsOnARealNode(t *testing.T) {
	c, _ := realCluster(t, 1)
	ctx := context.Background()
	o := client.LeaseOptions{Owner: "me", TTL: time.Second, Acquisition: "the first"}
	g, err := c.Leases().Grant(ctx, "job", o)
	if err != nil || g.Left <= 0 || g.Left > time.Second {
		t.Fatalf("%+v, %v", g, err)
	}
	if again, err := c.Leases().Grant(ctx, "job", o); err != nil || again.Token != g.Token {
		t.Fatalf("again: %+v, %v", again, err)
	}
	next, err := c.Leases().Renew(ctx, g)
	if err != nil || next.Token < g.Token {
		t.Fatalf("%+v, %v", next, err)
	}
	other := next
	other.Name = "other"
	list, err := c.Leases().RenewAll(ctx, []client.LeaseGrant{next, other})
	if err != nil || list[0].Err != nil || list[0].Grant == "" || list[1].Err == nil {
		t.Fatalf("%+v, %v", list, err)
	}
	if err := c.Leases().Release(ctx, g); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Leases().Renew(ctx, next); kindOf(t, errorOnly(err)) != client.ErrLost {
		t.Fatalf("renew what was released: %v", err)
	}
	for name, o := range map[string]client.LeaseOptions{"TTL": {TTL: time.Hour}} {
		if _, err := c.Leases().Acquire(ctx, "job", o); kindOf(t, err) != client.ErrInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	short, err := c.Leases().Acquire(ctx, "short", client.LeaseOptions{TTL: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second)
	if !short.Held() {
		t.Error(short.Err())
	}
	if err := short.Release(ctx); err != nil {
		t.Error(err)
	}
}
