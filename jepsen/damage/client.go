package damage

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"tenure/api"
	"tenure/jepsen/cluster"
)

// client sends HTTP requests to one node, without retries.
type client struct {
	base string
	http *http.Client
}

const askers = 4 // concurrent readers

func newClient(n *cluster.Node) *client {
	return &client{base: "http://" + n.Client, http: &http.Client{
		Timeout: 15 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: askers}}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// send sends a request about keys; path is below /v1/kv/.
func (c *client) send(ctx context.Context, method, path, body string) (code int, text string, err error) {
	return c.do(ctx, method, "/v1/kv/"+path, body)
}

func (c *client) fetch(ctx context.Context, path string) (code int, text string, err error) {
	return c.do(ctx, http.MethodGet, path, "")
}

func (c *client) do(ctx context.Context, method, path, body string) (code int, text string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	rsp, err := c.http.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer rsp.Body.Close()
	all, err := io.ReadAll(io.LimitReader(rsp.Body, 32<<20))
	return rsp.StatusCode, string(all), err
}

// fill puts a key, with retries: on a busy machine a node may lose its short lease.
func (c *client) fill(ctx context.Context, key, value string) error {
	err := c.put(ctx, key, value)
	for range 20 {
		if err == nil {
			break
		}
		cluster.Pause(ctx, 200*time.Millisecond)
		err = c.put(ctx, key, value)
	}
	return err
}

func (c *client) put(ctx context.Context, key, value string) error {
	return c.write(ctx, http.MethodPut, key, value)
}

func (c *client) remove(ctx context.Context, key string) error {
	return c.write(ctx, http.MethodDelete, key, "")
}

func (c *client) write(ctx context.Context, method, key, value string) error {
	code, text, err := c.send(ctx, method, key, value)
	if err == nil && (code != http.StatusOK || strings.TrimSpace(text) != "true") {
		err = fmt.Errorf("%s %s: %d %.200s", method, key, code, text)
	}
	return err
}

// state is what a node must answer.
type state struct {
	want  map[string]string // acknowledged values; "" for a key that must not exist
	maybe map[string]string // values of unacknowledged writes, which the node may have instead
	// older is true if the node has reported that it dropped the received snapshot. It then has the state before, in
	// which there were no keys.
	older bool
}

// right reports whether an answer about a key is allowed; found is false if the answer was that there is no such key.
func (s *state) right(key, value string, found bool) bool {
	if other, ok := s.maybe[key]; ok && found && value == other {
		return true
	}
	if s.older && !found {
		return true
	}
	want := s.want[key]
	return found == (want != "") && value == want
}

// ask reads all keys, stale and in random order, and a listing. It returns the number of right answers, and an error
// for the first wrong one. A request that fails, or that the node refuses, is no answer.
func (c *client) ask(ctx context.Context, r *rand.Rand, s *state) (right int, wrong error) {
	keys := make([]string, 0, len(s.want)+len(s.maybe))
	for k := range s.want {
		keys = append(keys, k)
	}
	for k := range s.maybe {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	var (
		mu sync.Mutex
		wg sync.WaitGroup
	)
	for w := range askers {
		wg.Go(func() {
			for i := w; i < len(keys); i += askers {
				ok, err := c.askOne(ctx, s, keys[i])
				mu.Lock()
				if ok {
					right++
				}
				if err != nil && wrong == nil {
					wrong = err
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if wrong == nil {
		wrong = c.askList(ctx, s)
	}
	return right, wrong
}

func (c *client) askOne(ctx context.Context, s *state, key string) (right bool, wrong error) {
	code, text, err := c.send(ctx, http.MethodGet, key+"?raw&stale", "")
	if err != nil || code != http.StatusOK && code != http.StatusNotFound {
		return false, nil
	}
	if code == http.StatusNotFound {
		text = ""
	}
	if !s.right(key, text, code == http.StatusOK) {
		want := s.want[key]
		at := 0
		for at < min(len(text), len(want)) && text[at] == want[at] {
			at++
		}
		return false, fmt.Errorf("key %s: status %d, %d bytes, and %d were written; they differ at byte %d: %.40q, "+
			"%.40q", key, code, len(text), len(want), at, text[at:], want[at:])
	}
	return true, nil
}

// askList checks a listing of all keys.
func (c *client) askList(ctx context.Context, s *state) error {
	code, text, err := c.send(ctx, http.MethodGet, "?keys&stale", "")
	if err != nil || code != http.StatusOK {
		return nil
	}
	var keys []string
	if err := json.Unmarshal([]byte(text), &keys); err != nil {
		return fmt.Errorf("a listing: %w", err)
	}
	there := map[string]bool{}
	for _, k := range keys {
		there[k] = true
		if _, maybe := s.maybe[k]; s.want[k] == "" && !maybe {
			return fmt.Errorf("a listing has key %s, which is not there", k)
		}
	}
	for k, v := range s.want {
		if _, maybe := s.maybe[k]; v != "" && !there[k] && !maybe && !s.older {
			return fmt.Errorf("a listing of %d keys lacks key %s", len(keys), k)
		}
	}
	return nil
}

// answers waits until the node can be asked, and returns true, or has ended, and returns false. If applied is 0 a node
// can be asked when it is ready. Otherwise its peers do not run, and it can be asked when it has applied that slot, or
// cannot returns true.
func (c *client) answers(ctx context.Context, n *cluster.Node, applied uint64, cannot func() bool) (bool, error) {
	for end := time.Now().Add(startWithin); time.Now().Before(end); cluster.Pause(ctx, 5*time.Millisecond) {
		if !n.Running() || ctx.Err() != nil {
			return false, ctx.Err()
		}
		if applied > 0 {
			status, err := c.status(ctx)
			if err == nil && status.Cluster != "" && (status.Applied >= applied || cannot()) {
				return true, nil
			}
		} else if code, _, err := c.fetch(ctx, "/health/ready"); err == nil && code == http.StatusOK {
			return true, nil
		}
	}
	return false, fmt.Errorf("the node neither answers nor ends within %v", startWithin)
}

// status asks the node for its state.
func (c *client) status(ctx context.Context) (status api.Status, err error) {
	code, text, err := c.fetch(ctx, api.PathStatus)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("status %d: %.200s", code, text)
	}
	if err != nil {
		return status, err
	}
	return status, json.Unmarshal([]byte(text), &status)
}

// startWithin bounds a start on a busy machine.
const startWithin = 40 * time.Second
