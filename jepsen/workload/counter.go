package workload

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"tenure/client"
)

// Counted is what the clients of a counter were told.
type Counted struct {
	Done    int64 // increments acknowledged
	Unknown int64
	Refused int64
	Losses  int64 // conditions that failed because another client was first
}

// Counter makes clients increment one key by compare-and-set until ctx ends. The key would be larger than Done +
// Unknown if a write was applied and its client was told that the condition failed.
func Counter(ctx context.Context, cfg Config, key string) (Counted, error) {
	var n struct{ done, unknown, refused, losses atomic.Int64 }
	var wg sync.WaitGroup
	for i := range cfg.Clients {
		c, err := client.New(client.Config{
			Endpoints: rotate(cfg.Endpoints, i), Timeout: cfg.Timeout, AttemptTimeout: cfg.Timeout / 4,
			NoLearning: true, TLS: cfg.TLS,
		})
		if err != nil {
			return Counted{}, err
		}
		wg.Go(func() {
			defer c.Close()
			for ctx.Err() == nil {
				switch err := increment(c, cfg, key); {
				case err == nil:
					n.done.Add(1)
				case errors.Is(err, client.ErrCondition):
					n.losses.Add(1)
				case errors.Is(err, client.ErrUnknown):
					n.unknown.Add(1)
				default:
					n.refused.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return Counted{n.done.Load(), n.unknown.Load(), n.refused.Load(), n.losses.Load()}, nil
}

func increment(c *client.Client, cfg Config, key string) error {
	ctx, cancel := context.WithTimeout(context.Background(), cfg.Timeout)
	defer cancel()
	value, index, err := ReadCounter(ctx, c, key)
	if err != nil {
		return err
	}
	_, err = c.CompareAndSet(ctx, key, []byte(strconv.FormatInt(value+1, 10)), index, client.WriteOptions{})
	return err
}

// ReadCounter returns the counter's value and index; 0 and 0 if it was never written.
func ReadCounter(ctx context.Context, c *client.Client, key string) (int64, uint64, error) {
	e, _, err := c.Get(ctx, key, client.ReadOptions{})
	if errors.Is(err, client.ErrNotFound) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	value, err := strconv.ParseInt(string(e.Value), 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("the counter %s holds %q", key, e.Value)
	}
	return value, e.ModifyIndex, nil
}
