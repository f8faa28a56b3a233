package kv

import (
	"fmt"
	"time"

	"tenure/api"
)

// Bounds of the format: what a command may hold, whatever a node's flags say. Changing one is changing the format,
// since nodes that differ would apply the same command differently. Those that clients know are in package api.
const (
	MaxKeyBytes      = api.MaxKeyBytes
	MaxIdemKeyBytes  = api.MaxIdempotencyKeyBytes
	MaxValueBytes    = api.MaxValueBytes
	MaxBatchCommands = 1 << 16 // commands in one batch; whoever builds batches stays within it

	// MaxCommandBytes bounds an encoded command: the largest value and space for everything else.
	MaxCommandBytes = MaxValueBytes + 4096

	MaxParts            = api.MaxTxnOps           // of a transaction; together they have at most MaxPartsBytes
	MaxSteps            = 4096                    // of a sequence; together they have at most MaxPartsBytes
	MaxPartsBytes       = MaxValueBytes + 2<<10   // encoded: the largest value fits with its key
	MaxSessionNameBytes = api.MaxSessionNameBytes // of a session's name, and of its node
	MaxPartSessionBytes = 128                     // of what a part of a transaction takes for the ID of a session
	// MaxQuotaPrefixBytes is the longest prefix that may have a quota: a refusal that names it is remembered whole.
	MaxQuotaPrefixBytes = api.MaxQuotaPrefixBytes
	// MaxTTL bounds every time in a command, so that adding a few of them to a clock reading cannot overflow.
	MaxTTL = 50 * 365 * 24 * time.Hour

	// MaxBodyBytes bounds Result.Body: an entry with the largest value and key fits.
	MaxBodyBytes = MaxValueBytes + 4096
	// SequenceBytes bounds the results of a sequence that goes on with another one: whoever sent it has them in memory
	// until its client has taken them.
	SequenceBytes = 1 << 20
	// MaxRememberedBody is how much of it is remembered with an idempotency key.
	MaxRememberedBody = 1 << 10
	// MaxListed is how many entries of trees the result of a transaction may have.
	MaxListed = 1 << 16

	sessionIDBytes = 36 // a UUID as text
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
