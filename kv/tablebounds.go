package kv

import (
	"fmt"

	"tenure/api"
)

// Limits bound what the state keeps and what one command may do. They decide results, so all nodes of a cluster must
// have the same: servers use DefaultLimits, only tests use others.
type Limits struct {
	// DedupEntries is how many idempotency keys are remembered, the newest ones.
	DedupEntries int
	// DedupRevisions is the age at which a key is forgotten even if there is space: that many revisions later.
	DedupRevisions uint64
	// PruneKeys is how many keys one prune may delete; a larger one is refused whole with CodeTooMany, for until the
	// next checkpoint every deletion takes memory.
	PruneKeys int
	// Sessions, Locks, ExpiringKeys and Fences bound tables that are in memory whole; what would go beyond is refused
	// with CodeFull. Locks counts keys that are locked and keys in lock-delay together, so that a session always finds
	// space for its lock-delays when it ends.
	Sessions     int
	Locks        int
	ExpiringKeys int
	Fences       int
	// Tombstones is how many deletions are remembered one by one, the newest; of those before only the newest revision
	// is.
	Tombstones int
	// Quotas is how many prefixes may have one; what would go beyond is refused with CodeFull.
	Quotas int
	// Policies and Tokens bound what can be put into their tables; what would go beyond is refused with CodeFull.
	Policies int
	Tokens   int
	// CountKeys is how many keys one command counts for a new quota, so that it does not hold up others for long.
	CountKeys int
}

// DefaultLimits are those of every server. The table of idempotency keys takes some 20 MiB when it is full of keys of
// 36 bytes, and up to 170 MiB with the longest keys and results. It covers 26 s of 5,000 keyed writes a second.
var DefaultLimits = Limits{
	DedupEntries: 1 << 17, DedupRevisions: 1 << 20, PruneKeys: 1 << 20,
	Sessions: 1 << 16, Locks: 1 << 18, ExpiringKeys: 1 << 20, Fences: 1 << 16, Tombstones: 1 << 16,
	Quotas: 1 << 10, Policies: api.MaxPolicies, Tokens: api.MaxTokens, CountKeys: 1 << 11,
}

// Validate reports limits under which nothing could be remembered, deleted or kept.
func (l Limits) Validate() error {
	if l.DedupEntries < 1 || l.DedupRevisions < 1 || l.PruneKeys < 1 ||
		l.Sessions < 1 || l.Locks < 1 || l.ExpiringKeys < 1 || l.Fences < 1 || l.Tombstones < 1 ||
		l.Quotas < 1 || l.Policies < 1 || l.Tokens < 1 || l.CountKeys < 1 {
		return fmt.Errorf("kv: limits %+v: each must be at least 1", l)
	}
	return nil
}
