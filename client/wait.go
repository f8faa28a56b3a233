package client

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"tenure/api"
)

// DefaultWait is for how long a read waits for news if it is not told.
const DefaultWait = 5 * time.Minute

const (
	// maxWaitTry is for how long one node is asked to wait. A longer wait asks again, so a node that has fallen silent,
	// or has lost the others, is left after that time.
	maxWaitTry = 30 * time.Second
	// waitJitter: a node may wait for up to that fraction longer.
	waitJitter = 16
)

// at is a read that waits until the index has passed, for at most wait.
type at struct {
	index uint64 // 0: it does not wait
	wait  time.Duration
}

// GetWait is Get, once the key has changed behind index, which is the Meta.Index of an earlier read, or once wait is
// over: then Meta.Index may still be index. An index of 0 does not wait; a wait of 0 is DefaultWait. Whoever loops on
// it sees every last state, though not every one before.
//
// Config.Timeout begins to count when the wait is over.
//
// An index that falls is another store's, which has come in the place of the first: begin again with 0.
func (c *Client) GetWait(ctx context.Context, key string, index uint64, wait time.Duration, o ReadOptions) (Entry, Meta, error) {
	return c.getKey(ctx, key, o, at{index, wait})
}

// ListWait is List, once a key that starts with prefix has changed behind index; see GetWait. The index is of the whole
// prefix, whichever page is listed.
func (c *Client) ListWait(ctx context.Context, prefix string, index uint64, wait time.Duration, o ListOptions) ([]Entry, Meta, error) {
	return c.list(ctx, prefix, o, at{index, wait})
}

// KeysWait is Keys, once a key that starts with prefix has changed behind index; see GetWait.
func (c *Client) KeysWait(ctx context.Context, prefix string, index uint64, wait time.Duration, o ListOptions) ([]string, Meta, error) {
	return c.keys(ctx, prefix, o, at{index, wait})
}

// await asks nodes to wait, one after the other, until one has news behind when or the wait is over.
func (c *Client) await(ctx context.Context, op, key string, q query, when at, decode func(answer) error) (Meta, error) {
	if when.wait <= 0 {
		when.wait = DefaultWait
	}
	end := time.Now().Add(when.wait)
	ctx, cancel := context.WithDeadline(ctx, end.Add(when.wait/waitJitter+c.cfg.Timeout))
	defer cancel()
	for {
		var sent time.Time
		var wait time.Duration
		a, err := c.read(ctx, op, key, func() request {
			sent = time.Now()
			wait = min(end.Sub(sent), maxWaitTry)
			return c.waiting(key, q, when.index, wait)
		}, decode)
		if err != nil {
			return Meta{}, err
		}
		// Where nothing is, the index is the store's, which other keys move too: it may be no news. Asked again behind
		// the same index, a node answers at once if it is.
		m, now := a.meta(), time.Now()
		quiet := m.Index == when.index || now.Sub(sent) >= wait && a.nothing() && m.Index > when.index
		if !quiet || !now.Before(end) {
			return m, nil
		}
	}
}

// waiting is a read that waits for so long; one whose time is over does not wait.
func (c *Client) waiting(key string, q query, index uint64, wait time.Duration) request {
	r := request{method: http.MethodGet, path: pathOf(key)}
	if wait >= time.Millisecond {
		q = append(query{}, q...)
		q.value(api.QueryIndex, strconv.FormatUint(index, 10))
		q.value(api.QueryWait, strconv.FormatInt(wait.Milliseconds(), 10)+"ms")
		r.silence = wait + wait/waitJitter + c.cfg.AttemptTimeout
	}
	r.query = q.String()
	return r
}

// nothing tells whether a read found nothing.
func (a answer) nothing() bool {
	return a.absent() || bytes.Equal(bytes.TrimSpace(a.body), []byte("[]"))
}
