package nemesis

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"tenure/jepsen/cluster"
)

const (
	floodClients    = 400
	floodValueBytes = 128 << 10 // together more than a node queues
	floodKeys       = 64
	floodTimeout    = 3 * time.Second
)

// overload floods all nodes with large writes, more at a time than they queue. Refusing them is right; so is being
// slow. Memory and time must not run out, and no answer may be false.
func overload(ctx context.Context, b *Bed) error {
	for ctx.Err() == nil {
		end := b.Log.begin("overload")
		f := &flood{value: bytes.Repeat([]byte("flood "), floodValueBytes/6)}
		f.run(ctx, b.Cluster.Endpoints(), b.between(1000*ms, 2000*ms))
		seen := ""
		if f.refused.Load() > 0 {
			seen = fmt.Sprintf("%d large writes done, %d refused with 503, %d without an answer", f.done.Load(),
				f.refused.Load(), f.silent.Load())
		}
		end(seen)
		cluster.Pause(ctx, b.between(1000*ms, 2000*ms))
	}
	return nil
}

type flood struct {
	value                       []byte
	next, done, refused, silent atomic.Int64
}

func (f *flood) run(ctx context.Context, endpoints []string, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	transport := &http.Transport{MaxIdleConnsPerHost: floodClients}
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport, Timeout: floodTimeout}
	var wg sync.WaitGroup
	for range floodClients {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(f.next.Add(1))
				f.put(c, fmt.Sprintf("%s/v1/kv/flood/%d", endpoints[i%len(endpoints)], i%floodKeys))
			}
		})
	}
	wg.Wait()
}

func (f *flood) put(c *http.Client, url string) {
	req, err := http.NewRequest(http.MethodPut, url, bytes.NewReader(f.value))
	if err != nil {
		f.silent.Add(1)
		return
	}
	rsp, err := c.Do(req)
	if err != nil {
		f.silent.Add(1)
		return
	}
	_, _ = io.Copy(io.Discard, rsp.Body)
	_ = rsp.Body.Close()
	switch rsp.StatusCode {
	case http.StatusOK:
		f.done.Add(1)
	case http.StatusServiceUnavailable:
		f.refused.Add(1)
	default:
		f.silent.Add(1)
	}
}
