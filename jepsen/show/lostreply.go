package show

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httputil"
	"sync/atomic"
	"time"

	"tenure/jepsen/cluster"
	"tenure/jepsen/workload"
)

const lostReplyFor = 10 * time.Second

func lostReply(ctx context.Context, s *stage) error {
	c, err := s.cluster(ctx)
	if err != nil {
		return err
	}
	defer c.Stop(2 * time.Second)
	p := &lossyProxies{}
	defer p.Close()
	for _, e := range c.Endpoints() {
		if err := p.add(e); err != nil {
			return err
		}
	}
	counting, enough := context.WithTimeout(ctx, lostReplyFor)
	defer enough()
	changes := make(chan error, 1)
	go func() { changes <- changeMasters(counting, c, 2) }()
	counted, err := workload.Counter(counting,
		workload.Config{Endpoints: p.endpoints, Clients: 8, Timeout: 20 * time.Second}, "counter")
	if err != nil {
		return err
	}
	if err := <-changes; err != nil {
		return fmt.Errorf("changing the master: %w", err)
	}
	direct, err := connect(c, 10*time.Second)
	if err != nil {
		return err
	}
	defer direct.Close()
	value, _, err := workload.ReadCounter(ctx, direct, "counter")
	if err != nil {
		return err
	}
	dropped := p.dropped.Load()
	s.say("%d answers to writes were dropped; %d increments acknowledged, %d unknown, %d refused; the counter is %d",
		dropped, counted.Done, counted.Unknown, counted.Refused, value)
	if value < counted.Done || value > counted.Done+counted.Unknown {
		return fmt.Errorf("the counter is %d after %d increments (and %d unknown)", value, counted.Done,
			counted.Unknown)
	}
	if dropped < 20 || counted.Done < 50 {
		return fmt.Errorf("only %d answers dropped and %d increments: the story tested nothing", dropped, counted.Done)
	}
	return nil
}

// changeMasters kills the master and starts it again, n times.
func changeMasters(ctx context.Context, c *cluster.Cluster, n int) error {
	for range n {
		cluster.Pause(ctx, lostReplyFor/4)
		m, _, err := c.Master(ctx)
		if err != nil {
			return err
		}
		if err := m.Kill(); err != nil {
			return err
		}
		cluster.Pause(ctx, time.Second)
		if err := m.Start(); err != nil {
			return err
		}
	}
	return nil
}

// lossyProxies stand before every node and drop the answer to each third write, after the node has given it.
type lossyProxies struct {
	cluster.HTTPProxies
	endpoints []string
	writes    atomic.Int64
	dropped   atomic.Int64
}

func (p *lossyProxies) add(endpoint string) error {
	at, err := p.Serve(endpoint, func(proxy *httputil.ReverseProxy) http.Handler {
		proxy.ModifyResponse = func(r *http.Response) error {
			if r.Request.Method == http.MethodPut && p.writes.Add(1)%3 == 0 {
				p.dropped.Add(1)
				panic(http.ErrAbortHandler)
			}
			return nil
		}
		return proxy
	})
	p.endpoints = append(p.endpoints, at)
	return err
}
