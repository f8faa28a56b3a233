package client

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"tenure/api"
)

// baseMaxAge is how old the newest word on the store's revision may be when a write begins. It must be well below
// the time in which a busy cluster forgets an idempotency key, or an idle client's first write is "too old".
const baseMaxAge = time.Second

// seen is what the client knows of the store's revision: the source of every write's base.
type seen struct {
	mu       sync.Mutex
	cluster  string    // whose revisions these are, once a status has told
	revision uint64    // the highest one in any answer
	at       time.Time // when a node last told the revision of the store, as opposed to that of an entry
}

// observe takes the revisions out of an answer.
func (s *seen) observe(a answer) {
	store, entry := a.number(api.HeaderRevision), a.number(api.HeaderIndex)
	s.mu.Lock()
	defer s.mu.Unlock()
	// A read's index is never 0, so 1 may stand for nothing at all.
	if entry > 1 {
		s.revision = max(s.revision, entry)
	}
	if store > 0 {
		s.revision = max(s.revision, store)
		s.at = time.Now()
	}
}

// learned notes the store's revision at some node. Another cluster at the same addresses (a new one, a restored
// backup) counts its own revisions, and refuses bases that it never reached.
func (s *seen) learned(cluster string, revision uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster != cluster {
		if s.cluster != "" {
			s.revision = 0
		}
		s.cluster = cluster
	}
	s.revision, s.at = max(s.revision, revision), time.Now()
}

// fresh is the highest revision seen, and whether it is new enough for a base.
func (s *seen) fresh() (uint64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision, !s.at.IsZero() && time.Since(s.at) <= baseMaxAge
}

// base is a revision that this client has seen and the cluster should still remember: what the newest answers said,
// or else what a node's status says. A node that takes no part is not asked: it may know nothing. One whose disk is
// full is, for it may be the deletes that make space.
func (c *Client) base(ctx context.Context) (uint64, error) {
	if revision, ok := c.seen.fresh(); ok {
		return revision, nil
	}
	_, err := c.status(ctx, func(s Status) bool { return s.Problem == "" || s.Role != api.RoleNonVoter })
	if err != nil {
		return 0, err
	}
	revision, _ := c.seen.fresh()
	return revision, nil
}

func decodeStatus(a answer) (Status, error) {
	var s Status
	if err := json.Unmarshal(a.body, &s); err != nil || s.Node == 0 {
		return Status{}, errNotUnderstood
	}
	return s, nil
}
