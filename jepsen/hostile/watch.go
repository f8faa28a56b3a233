package hostile

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"tenure/api"
	"tenure/jepsen/cluster"
	"tenure/jepsen/scrape"
)

const (
	lookEvery     = 100 * time.Millisecond // at the memory of the nodes
	statusEvery   = 2 * time.Second
	statusTimeout = 10 * time.Second
)

// seen is what was seen of the nodes during a flood.
type seen struct {
	mu       sync.Mutex
	resident int64         // most bytes of one node
	status   time.Duration // the longest until kvctl status told of a master
	statuses int
	failed   error // of kvctl status
	inFlight int64 // most requests at one node
}

// watch looks at the nodes until ctx ends.
func (b *bed) watch(ctx context.Context, s *seen) {
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			for _, n := range b.cluster.Nodes() {
				s.memory(n)
			}
			if !cluster.Pause(ctx, lookEvery) {
				return
			}
		}
	})
	wg.Go(func() {
		for cluster.Pause(ctx, statusEvery/4) {
			s.ask(b.kvctl)
			if !cluster.Pause(ctx, statusEvery) {
				return
			}
		}
	})
	wg.Go(func() {
		c, err := b.http()
		if err != nil {
			return // then no node can be asked who is master, which fails
		}
		defer c.CloseIdleConnections()
		for cluster.Pause(ctx, statusEvery/2) {
			for _, e := range b.endpoints {
				s.metrics(ctx, c, e)
			}
		}
	})
	wg.Wait()
}

// memory notes how much of a node is in memory.
func (s *seen) memory(n *cluster.Node) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.PID()))
	if err != nil {
		return // it has ended, which is found elsewhere
	}
	_, after, _ := strings.Cut(string(text), "VmRSS:")
	var kib int64
	_, _ = fmt.Sscan(after, &kib)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resident = max(s.resident, kib<<10)
}

// processor returns the processor time that a process has taken so far, 0 if it has ended, which is found elsewhere.
func processor(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), ") ")
	const userAndSystem = 11 // fields behind the name of the program, before those two
	fields := strings.Fields(after)
	var sum time.Duration
	for _, f := range fields[userAndSystem:min(len(fields), userAndSystem+2)] {
		ticks, _ := strconv.ParseInt(f, 10, 64)
		sum += time.Duration(ticks) * (time.Second / 100) // USER_HZ is 100
	}
	return sum
}

// processor returns the processor time of all nodes.
func (b *bed) processor() (sum time.Duration) {
	for _, n := range b.cluster.Nodes() {
		sum += processor(n.PID())
	}
	return sum
}

// metrics notes how many requests are in flight at a node.
func (s *seen) metrics(ctx context.Context, c *http.Client, endpoint string) {
	n, err := metric(ctx, c, endpoint, "tenure_http_requests_in_flight")
	if err != nil {
		return // kvctl status is what must be answered
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight = max(s.inFlight, n)
}

// metric returns a figure of a node.
func metric(ctx context.Context, c *http.Client, endpoint, name string) (n int64, err error) {
	text, err := scrape.Get(ctx, c, endpoint+"/metrics", "")
	if err != nil {
		return 0, err
	}
	numbers, err := scrape.Numbers(text, name+" ")
	if err != nil {
		return 0, fmt.Errorf("%s: %w", endpoint, err)
	}
	return int64(numbers[0]), nil
}

// limited returns how often the limit of a flood was reached so far, 0 if it is not for one.
func (b *bed) limited(ctx context.Context, f *Flood) (sum int64, err error) {
	if f.limit == "" {
		return 0, nil
	}
	c, err := b.http()
	if err != nil {
		return 0, err
	}
	defer c.CloseIdleConnections()
	for _, e := range b.endpoints {
		n, err := metric(ctx, c, e, fmt.Sprintf("tenure_http_limit_reached_total{limit=%q}", f.limit))
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// ask runs kvctl status as an operator would, who repeats it if it fails. A flood may end meanwhile.
func (s *seen) ask(kvctl []string) {
	ctx, cancel := context.WithTimeout(context.Background(), statusTimeout)
	defer cancel()
	began := time.Now()
	args := append(kvctl[1:len(kvctl):len(kvctl)], "status")
	out, err := exec.CommandContext(ctx, kvctl[0], args...).CombinedOutput()
	for err != nil && ctx.Err() == nil {
		out, err = exec.CommandContext(ctx, kvctl[0], args...).CombinedOutput()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.statuses = max(s.status, time.Since(began)), s.statuses+1
	if err != nil {
		s.failed = errors.Join(s.failed, fmt.Errorf("kvctl status: %w: %.300s", err, out))
	}
}

// mastership is who is master in which epoch.
type mastership struct {
	node  int
	epoch uint64
}

// master asks the nodes who is master, until one says that it is.
func (b *bed) master(ctx context.Context) (mastership, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	c, err := b.http()
	if err != nil {
		return mastership{}, err
	}
	defer c.CloseIdleConnections()
	for {
		for _, e := range b.endpoints {
			if s, err := status(ctx, c, e); err == nil && s.Lease.Held && s.Role == "master" {
				return mastership{int(s.Node), s.Epoch}, nil
			}
		}
		if !cluster.Pause(ctx, 20*time.Millisecond) {
			return mastership{}, errors.New("no node is master")
		}
	}
}

func status(ctx context.Context, c *http.Client, endpoint string) (s api.Status, err error) {
	text, err := scrape.Get(ctx, c, endpoint+api.PathStatus, "")
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(text, &s)
}

// http returns a client that makes a connection for each request, as an operator does.
func (b *bed) http() (*http.Client, error) {
	t := &http.Transport{DisableKeepAlives: true}
	if b.tls != nil {
		pem, err := os.ReadFile(b.tls.CAFile)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
		t.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	return &http.Client{Transport: bearer{t, b.token}, Timeout: statusTimeout}, nil
}

// bearer sends requests with a token, unless it has none.
type bearer struct {
	*http.Transport
	token string
}

// RoundTrip implements http.RoundTripper.
func (t bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set(api.HeaderToken, t.token)
	}
	return t.Transport.RoundTrip(r)
}
