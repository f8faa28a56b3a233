package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"tenure/client"
	"tenure/client/clienttest"
)

// TestANewOnce: a caller may choose the key of a first try. A refusal of that one is no doubt; another try of it is.
func TestANewOnce(t *testing.T) {
	cluster := clienttest.Start(1)
	defer cluster.Close()
	c, err := client.New(client.Config{Endpoints: cluster.Endpoints(), Timeout: 5 * time.Second, NoLearning: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	first := client.WriteOptions{Once: client.Once{Key: "run-0", New: true}}
	revision, err := c.Set(ctx, "k", []byte("1"), first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Set(ctx, "k", []byte("2"), first); !errors.Is(err, client.ErrKeyReused) {
		t.Errorf("another write under the key: %v", err)
	}
	again := client.WriteOptions{Once: client.Once{Key: "run-0", Base: 1}}
	if r, err := c.Set(ctx, "k", []byte("1"), again); err != nil || r != revision {
		t.Errorf("the same write again: %d, %v; want %d", r, err, revision)
	}
	if _, err := c.Set(ctx, "k", []byte("2"), again); !errors.Is(err, client.ErrUnknown) {
		t.Errorf("another write, said to be a retry: %v", err)
	}
	var e *client.Error
	if _, err := c.Set(ctx, "", nil, first); !errors.As(err, &e) || e.Once.New {
		t.Errorf("%+v", err)
	}
}
