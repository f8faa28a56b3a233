package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

// Half is the result of one half of the full load, as kvctl bench prints it. Latencies are in milliseconds.
type Half struct {
	Ops     uint64  `json:"ops"`
	Errors  uint64  `json:"errors"`
	Seconds float64 `json:"seconds"`
	OpsPerS float64 `json:"ops_per_s"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	P999    float64 `json:"p999_ms"`
	Max     float64 `json:"max_ms"`
}

// load runs the two halves of the full load.
func (m *measurement) load(ctx context.Context) (halves [2]Half, err error) {
	for i := range halves {
		out, err := exec.CommandContext(ctx, m.kvctl, "--endpoints", strings.Join(m.nodes.Endpoints(), ","), "--json",
			"bench", "put", "--clients", strconv.Itoa(m.cfg.Clients), "--keys", strconv.Itoa(m.cfg.Keys),
			"--value-size", strconv.Itoa(m.cfg.ValueSize), "--duration", (m.cfg.Time / 2).String()).Output()
		if err != nil {
			return halves, fmt.Errorf("kvctl bench: %w: %s", err, stderr(err))
		}
		if err := json.Unmarshal(out, &halves[i]); err != nil {
			return halves, fmt.Errorf("kvctl bench printed %.200q: %w", out, err)
		}
		m.say("half %d: %.0f writes/s, p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms, max %.0f ms, %d errors", i+1,
			halves[i].OpsPerS, halves[i].P50, halves[i].P99, halves[i].P999, halves[i].Max, halves[i].Errors)
	}
	return halves, nil
}

// stderr returns what a failed command wrote to standard error.
func stderr(err error) string {
	if exit, ok := err.(*exec.ExitError); ok {
		return string(exit.Stderr)
	}
	return ""
}

const (
	fewClients = 4
	fewPrefix  = "few/"
	fewKeys    = 200 // for each of the few clients
	fewPause   = 20 * time.Millisecond
)

// few is a few clients beside the full load, which slowly do every kind of write to keys of their own, and a reader of
// these keys.
type few struct {
	client *client.Client
	stop   context.CancelFunc
	wg     sync.WaitGroup
	seen   []look
	fail   chan error
}

func (m *measurement) startFew(ctx context.Context) (*few, error) {
	c, err := client.New(client.Config{Endpoints: m.nodes.Endpoints(), Timeout: 20 * time.Second, NoLearning: true})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	f := &few{client: c, stop: stop, fail: make(chan error, fewClients+1)}
	for i := range fewClients {
		f.wg.Go(func() { f.report(ctx, f.write(ctx, i)) })
	}
	endpoint := m.nodes.Endpoints()[0]
	f.wg.Go(func() { f.report(ctx, f.look(ctx, endpoint)) })
	return f, nil
}

// report records an error, unless the end of ctx has caused it.
func (f *few) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		f.fail <- err
	}
}

// end stops the clients and returns what the reader saw, or the first error.
func (f *few) end() ([]look, error) {
	f.stop()
	f.wg.Wait()
	f.client.Close()
	select {
	case err := <-f.fail:
		return nil, err
	default:
		return f.seen, nil
	}
}

// write does writes of all kinds until ctx ends. It ignores refused writes.
func (f *few) write(ctx context.Context, number int) error {
	for n := 0; ctx.Err() == nil; n++ {
		key := func() string { return fmt.Sprintf("%s%d/%03d", fewPrefix, number, rand.IntN(fewKeys)) }
		value := fmt.Appendf(nil, "client %d, write %d", number, n)
		var err error
		switch n % 6 {
		case 0, 1:
			_, err = f.client.Set(ctx, key(), value, client.WriteOptions{Flags: uint64(n)})
		case 2:
			_, err = f.client.Set(ctx, key(), value, client.WriteOptions{TTL: time.Hour})
		case 3:
			_, err = f.client.Delete(ctx, key(), client.WriteOptions{})
		case 4:
			_, _, err = f.client.Add(ctx, fmt.Sprintf("%s%d/sum", fewPrefix, number), int64(n), client.WriteOptions{})
		case 5:
			_, err = f.client.Rename(ctx, key(), key(), client.WriteOptions{})
		}
		if err != nil && !refused(err) && ctx.Err() == nil {
			return fmt.Errorf("client %d, write %d: %w", number, n, err)
		}
		cluster.Pause(ctx, fewPause)
	}
	return nil
}

// refused reports whether err means that a write had no effect.
func refused(err error) bool {
	return errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrCondition) ||
		errors.Is(err, client.ErrNotApplied)
}
