package compat

import (
	"context"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"tenure/client"
)

// TestSemaphoreTogether has Tenure's client and consul/api share one semaphore: the places that one has taken the other
// finds taken, and gets when they are free.
func TestSemaphoreTogether(t *testing.T) {
	c := start(t, "--session-ttl-min", "500ms")
	theirs := dial(t, c.Nodes()[0])
	var endpoints []string
	for _, n := range c.Nodes() {
		endpoints = append(endpoints, n.Client)
	}
	ours, err := client.New(client.Config{Endpoints: endpoints})
	must(t, err)
	defer ours.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	semaphore := func() *api.Semaphore {
		s, err := theirs.SemaphoreOpts(&api.SemaphoreOptions{Prefix: "shared", Limit: 2, SemaphoreTryOnce: true, SemaphoreWaitTime: 300 * time.Millisecond})
		must(t, err)
		return s
	}
	first, second := semaphore(), semaphore()
	lost, err := first.Acquire(nil)
	must(t, err)
	if lost == nil {
		t.Fatal("their first place is taken")
	}
	o := client.SemaphoreOptions{Limit: 2, Try: true}
	m, err := ours.Locks().AcquireSemaphore(ctx, "shared", o)
	must(t, err)
	if ch, err := second.Acquire(nil); err != nil || ch != nil {
		t.Errorf("a third place: %v, %v", ch, err)
	}
	if _, err := ours.Locks().AcquireSemaphore(ctx, "shared", o); err == nil {
		t.Error("we got a third place")
	}
	must(t, first.Release())
	waiting := o
	waiting.Try = false
	m2, err := ours.Locks().AcquireSemaphore(ctx, "shared", waiting)
	must(t, err)
	must(t, m.Release(ctx))
	if ch, err := second.Acquire(nil); err != nil || ch == nil {
		t.Errorf("a place that was given free: %v, %v", ch, err)
	}
	if m2.Err() != nil {
		t.Error(m2.Err())
	}
	select {
	case <-lost:
	default:
	}
	must(t, second.Release())
	must(t, m2.Release(ctx))
}
