package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/client"
	"tenure/client/clienttest"
)

// TestGrants: the calls below a Lease.
func TestGrants(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		ctx := context.Background()
		o := client.LeaseOptions{Owner: "me", TTL: 5 * time.Second, Acquisition: "the first"}
		g, err := w.client.Leases().Grant(ctx, "job", o)
		if err != nil || g.Name != "job" || g.Owner != "me" || g.TTL != 5*time.Second || g.Token == 0 || g.Left <= 4*time.Second || g.Left > 5*time.Second {
			t.Fatalf("%+v, %v", g, err)
		}
		again, err := w.client.Leases().Grant(ctx, "job", o)
		if err != nil || again.Token != g.Token {
			t.Fatalf("again: %+v, %v", again, err)
		}
		info, err := w.client.Leases().Info(ctx, "job")
		if err != nil || info.Owner != "me" || info.Token != g.Token || info.Remaining <= 0 || info.Remaining > 5*time.Second {
			t.Fatalf("show: %+v, %v", info, err)
		}
		time.Sleep(4 * time.Second)
		next, err := w.client.Leases().Renew(ctx, g)
		if err != nil || next.Grant == g.Grant || next.Left <= 4*time.Second {
			t.Fatalf("renew: %+v, %v", next, err)
		}
		g.TTL = 0
		if next, err = w.client.Leases().Renew(ctx, g); err != nil || next.TTL != 5*time.Second || next.Left <= 4*time.Second {
			t.Fatalf("renew with its own TTL: %+v, %v", next, err)
		}
		if err := w.client.Leases().Release(ctx, g); err != nil || len(w.Leases()) != 0 {
			t.Fatalf("release by the first grant: %v", err)
		}
		if err := w.client.Leases().Release(ctx, g); err != nil {
			t.Fatalf("a second release: %v", err)
		}
		if _, err := w.client.Leases().Renew(ctx, next); kindOf(t, errorOnly(err)) != client.ErrLost {
			t.Fatalf("renew what is gone: %v", err)
		}
		if _, err := w.client.Leases().Info(ctx, "job"); kindOf(t, err) != client.ErrNotFound {
			t.Fatalf("show what is free: %v", err)
		}
	})
}

// TestGrantWithAnAcquisition is not released when it is given up: its owner may come back for it.
func TestGrantWithAnAcquisition(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		w.inject(func(clienttest.Request) clienttest.Fault { return clienttest.DropApplied })
		ctx, cancel := within(time.Second)
		defer cancel()
		o := client.LeaseOptions{TTL: time.Minute, Acquisition: "the first"}
		if _, err := w.client.Leases().Grant(ctx, "job", o); kindOf(t, errorOnly(err)) != client.ErrUnknown || len(w.Leases()) != 1 {
			t.Fatalf("%v, left %v", err, w.Leases())
		}
		w.inject(noFaults)
		g, err := w.client.Leases().Grant(context.Background(), "job", o)
		if _, token := w.Lease("job"); err != nil || g.Token != token || token != 1<<32+1 {
			t.Fatalf("%+v, %v", g, err)
		}
		err = w.client.Leases().ReleaseAcquisition(context.Background(), "job", g.Owner, "the first")
		if err != nil || len(w.Leases()) != 0 {
			t.Fatalf("%v, left %v", err, w.Leases())
		}
	})
}

func TestRenewLeases(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		ctx := context.Background()
		var list []client.LeaseGrant
		for i := range 2500 {
			g, err := w.client.Leases().Grant(ctx, fmt.Sprint("job ", i), client.LeaseOptions{TTL: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, g)
		}
		if text := client.Renewals(slices.Repeat([]client.LeaseGrant{{Name: strings.Repeat("\x01", 256), Grant: "g"}}, 1024)); len(text) > 1<<20 {
			t.Errorf("a request of %d bytes, which no node reads", len(text))
		}
		w.EndLease("job 7")
		w.EndLease("job 2222")
		w.on(2, isLease, clienttest.Drop)
		done, err := w.client.Leases().RenewAll(ctx, list)
		if err != nil || len(done) != len(list) || w.LeaseRequests("renew-all") != 3 {
			t.Fatalf("%d of %d, %v, with %d requests", len(done), len(list), err, w.LeaseRequests("renew-all"))
		}
		var lost []string
		for i, d := range done {
			switch {
			case errors.Is(d.Err, client.ErrLost):
				lost = append(lost, list[i].Name)
			case d.Err != nil || d.Name != list[i].Name || d.Grant == list[i].Grant || d.Left <= 50*time.Second:
				t.Fatalf("%d: %+v", i, d)
			}
		}
		if !slices.Equal(lost, []string{"job 7", "job 2222"}) {
			t.Errorf("lost: %v", lost)
		}
		w.inject(func(clienttest.Request) clienttest.Fault { return clienttest.Drop })
		done, err = w.client.Leases().RenewAll(ctx, list)
		if kindOf(t, errorOnly(err)) != client.ErrUnknown || len(done) != len(list) || done[0].Err == nil || done[2499].Err == nil {
			t.Errorf("without a node: %v", err)
		}
	})
}

// A list has every lease once, in order, though no node knows all, in pages too; a node that does not answer is named.
func TestLeases(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		ctx := context.Background()
		for i := range 50 {
			if _, err := w.client.Leases().Grant(ctx, fmt.Sprintf("job/%02d", i), client.LeaseOptions{TTL: time.Minute, Owner: "me"}); err != nil {
				t.Fatal(err)
			}
		}
		w.EndLease("job/07")
		all := func(limit, unasked int) {
			t.Helper()
			var names []string
			for o := (client.LeaseListOptions{Prefix: "job/", Limit: limit}); ; {
				p, err := w.client.Leases().List(ctx, o)
				if err != nil || len(p.Unasked) != unasked || limit > 0 && len(p.Leases) > limit {
					t.Fatalf("%+v, %v", p, err)
				}
				for _, l := range p.Leases {
					if l.Owner != "me" || l.Token == 0 || l.Remaining <= 0 {
						t.Errorf("%+v", l)
					}
					names = append(names, l.Name)
				}
				if o.Start = p.Next; o.Start == "" {
					break
				}
			}
			if len(names) != 49 || !slices.IsSorted(names) || len(slices.Compact(names)) != 49 {
				t.Errorf("pages of %d: %d names: %v", limit, len(names), names)
			}
		}
		limits := []int{0, 1, 7, 49, 50}
		for _, limit := range limits {
			all(limit, 0)
		}
		w.on(-1, func(r clienttest.Request) bool { return r.Node == 2 }, clienttest.Drop)
		for _, limit := range limits {
			all(limit, 1)
		}
		p, err := w.client.Leases().List(ctx, client.LeaseListOptions{Prefix: "job/1"})
		if err != nil || !slices.Equal(p.Unasked, w.client.Endpoints()[1:2]) || len(p.Leases) != 10 {
			t.Errorf("%+v, %v", p, err)
		}
		w.inject(func(clienttest.Request) clienttest.Fault { return clienttest.Drop })
		if _, err := w.client.Leases().List(ctx, client.LeaseListOptions{}); kindOf(t, errorOnly(err)) != client.ErrUnavailable {
			t.Error(err)
		}
		if _, err := w.client.Leases().List(ctx, client.LeaseListOptions{Limit: -1}); kindOf(t, errorOnly(err)) != client.ErrInvalid {
			t.Error(err)
		}
	})
}
