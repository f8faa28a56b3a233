package client

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"tenure/api"
)

// DefaultWait is how long GetWait, ListWait and KeysWait wait if their wait is 0.
const DefaultWait = api.DefaultWait

const (
	// maxNodeWait is how long one node is asked to wait. A longer wait is asked for in parts. So a silent node, or one
	// that has lost the others, is left after maxNodeWait.
	maxNodeWait = 30 * time.Second
	// waitJitter is the fraction of a wait by which a node may wait longer.
	waitJitter = 16
)

// newerThan makes a read wait until the index has passed, for wait at most. An index of 0 does not wait.
type newerThan struct {
	index uint64
	wait  time.Duration
}

// GetWait is Get after the key has changed since index, which is the Meta.Index of an earlier read. If it does not
// change within wait, GetWait returns what is there, and Meta.Index may still be index. An index of 0 does not wait; a
// wait of 0 is DefaultWait. A loop on GetWait sees every last state, but not every state before it; see Watch.
//
// Config.Timeout begins to count when the wait is over.
//
// If Meta.Revision is below index, another store has taken the place of the store that index is from. GetWait has
// returned at once with the current entry, and the program's knowledge of the old store is void. After a restore from a
// backup GetWait returns at once too. In both cases Meta.Index is the index to wait for next. (A Stale read that
// returns when wait is over may have a lower Meta.Revision only because its node lags.)
func (c *kv) GetWait(
	ctx context.Context, key string, index uint64, wait time.Duration, o ReadOptions,
) (Entry, Meta, error) {
	return c.getKey(ctx, key, o, newerThan{index, wait})
}

// ListWait is List after a key that starts with prefix has changed since index; see GetWait. The index is that of the
// whole prefix, also if only a page is listed.
func (c *kv) ListWait(
	ctx context.Context, prefix string, index uint64, wait time.Duration, o ListOptions,
) ([]Entry, Meta, error) {
	return c.list(ctx, prefix, o, newerThan{index, wait})
}

// KeysWait is Keys after a key that starts with prefix has changed since index; see GetWait.
func (c *kv) KeysWait(
	ctx context.Context, prefix string, index uint64, wait time.Duration, o ListOptions,
) ([]string, Meta, error) {
	return c.keys(ctx, prefix, o, newerThan{index, wait})
}

// await asks one node after the other to wait, until one has a change or the wait is over.
func (c *kv) await(
	ctx context.Context, op, key string, q query, when newerThan, decode func(answer) error,
) (Meta, error) {
	if when.wait <= 0 {
		when.wait = DefaultWait
	}
	end := time.Now().Add(when.wait)
	ctx, cancel := context.WithDeadline(ctx, end.Add(when.wait/waitJitter+c.s.cfg.Timeout))
	defer cancel()
	for {
		var sent time.Time
		var wait time.Duration
		a, err := c.s.read(ctx, op, key, func() request {
			sent = time.Now()
			wait = min(end.Sub(sent), maxNodeWait)
			return waitRequest(key, q, when.index, wait, c.s.cfg.AttemptTimeout)
		}, decode)
		if err != nil {
			return Meta{}, err
		}
		m, now := a.meta(), time.Now()
		if !when.unchanged(a, m, now.Sub(sent) >= wait) || !now.Before(end) {
			return m, nil
		}
	}
}

// unchanged reports whether a, whose meta is m, may tell of no change. If it came when the time was over that it was
// given, its index may differ nevertheless:
//
//   - Where nothing is, the index is that of the store, which other keys move too. Asked again with the same index, a
//     node answers at once if the larger one is a change.
//   - The index of a key that was not changed may be lower, if the caller has its index from another read. But if the
//     whole store is below it, another store has taken the place of the first, and the node is of a version that does
//     not answer at once then.
func (n newerThan) unchanged(a answer, m Meta, timeOver bool) bool {
	switch {
	case m.Index == n.index:
		return true
	case !timeOver:
		return false
	case m.Index > n.index:
		return a.isEmpty()
	}
	return m.Revision >= n.index
}

// waitRequest returns a read that waits. With less than a millisecond left it does not wait.
func waitRequest(key string, q query, index uint64, wait, silence time.Duration) request {
	r := request{method: http.MethodGet, path: pathOf(key), query: q}
	if wait >= time.Millisecond {
		r.query = append(query{}, q...)
		r.query.value(api.QueryIndex, strconv.FormatUint(index, 10))
		r.query.value(api.QueryWait, strconv.FormatInt(wait.Milliseconds(), 10)+"ms")
		r.silenceLimit = wait + wait/waitJitter + silence
	}
	return r
}

// isEmpty reports whether a read found nothing.
func (a answer) isEmpty() bool {
	return a.absent() || bytes.Equal(bytes.TrimSpace(a.body), []byte("[]"))
}
