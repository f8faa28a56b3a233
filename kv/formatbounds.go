package kv

import (
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
