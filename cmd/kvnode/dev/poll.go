package dev

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/internal/devcluster"
)

const (
	pollEvery   = 200 * time.Millisecond
	pollTimeout = 500 * time.Millisecond
	maxAnswer   = 64 << 10
)

// view is what the nodes say of themselves at about one moment.
type view struct {
	ready   map[int]bool
	missing map[int]string // why a node is not ready
	master  int            // 0: nobody says that it is
	epoch   uint64
}

// poller asks all nodes, again and again, until ctx ends.
type poller struct {
	client *http.Client
	mu     sync.Mutex
	nodes  []devcluster.Node // replaced as a whole
}

func newPoller() *poller {
	return &poller{client: &http.Client{
		Timeout:   pollTimeout,
		Transport: &http.Transport{Proxy: nil, MaxIdleConnsPerHost: 1},
	}}
}

// trust has the poller take the certificates of the authority in a file.
func (p *poller) trust(ca string) error {
	dial, err := client.TLS{CAFile: ca}.Dialler()
	if err != nil {
		return err
	}
	p.client.Transport.(*http.Transport).DialTLSContext = dial
	return nil
}

// follow has these nodes asked from now on.
func (p *poller) follow(members []*member) {
	nodes := make([]devcluster.Node, len(members))
	for i, m := range members {
		nodes[i] = m.node
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nodes = nodes
}

func (p *poller) followed() []devcluster.Node {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.nodes
}

func (p *poller) run(ctx context.Context, out chan<- view) {
	defer p.client.CloseIdleConnections()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		v := p.ask(ctx)
		select {
		case out <- v:
		case <-ctx.Done():
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (p *poller) ask(ctx context.Context) view {
	v := view{ready: map[int]bool{}, missing: map[int]string{}}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, n := range p.followed() {
		all.Go(func() {
			code, body := p.get(ctx, n, api.PathHealthReady)
			_, text := p.get(ctx, n, api.PathStatus)
			var s api.Status
			if err := json.Unmarshal(text, &s); err != nil {
				s = api.Status{}
			}
			mu.Lock()
			defer mu.Unlock()
			v.ready[n.ID] = code == http.StatusOK
			v.missing[n.ID] = strings.Join(strings.Fields(string(body)), " ")
			if s.Role == api.RoleMaster && (v.master == 0 || s.Epoch > v.epoch) {
				v.master, v.epoch = n.ID, s.Epoch
			}
		})
	}
	all.Wait()
	return v
}

// get is code 0 and the error's text if there is no answer.
func (p *poller) get(ctx context.Context, n devcluster.Node, path string) (int, []byte) {
	scheme := "http://"
	if n.CA != "" {
		scheme = "https://"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+n.Client+path, nil)
	if err != nil {
		return 0, []byte(err.Error())
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, []byte(err.Error())
	}
	return resp.StatusCode, b
}
