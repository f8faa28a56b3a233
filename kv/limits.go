package kv

import (
	"errors"
	"fmt"
)

// Bounds of the format: what a command may hold, whatever a node's flags say. Changing one is changing the format,
// since nodes that differ would apply the same command differently.
const (
	MaxKeyBytes      = 1024
	MaxIdemKeyBytes  = 128
	MaxValueBytes    = 16 << 20
	MaxBatchCommands = 1 << 16 // commands in one batch; whoever builds batches stays within it

	// MaxCommandBytes bounds an encoded command: the largest value and room for everything else.
	MaxCommandBytes = MaxValueBytes + 4096
)

// Limits bound what the state keeps and what one command may do. They decide results, so all nodes of a cluster must
// have the same: servers use DefaultLimits, only tests use others.
type Limits struct {
	// DedupEntries is how many idempotency keys are remembered, the newest ones.
	DedupEntries int
	// DedupRevisions is the age at which a key is forgotten even if there is room: that many revisions later.
	DedupRevisions uint64
	// PruneKeys is how many keys one prune may delete; a larger one is refused whole with CodeTooMany, for until the
	// next fold every deletion takes memory.
	PruneKeys int
}

// DefaultLimits are those of every server. The table takes some 20 MiB when it is full of keys of 36 bytes, and covers
// 26 s of 5,000 keyed writes a second.
var DefaultLimits = Limits{DedupEntries: 1 << 17, DedupRevisions: 1 << 20, PruneKeys: 1 << 20}

// Validate reports limits under which nothing could be remembered or deleted.
func (l Limits) Validate() error {
	if l.DedupEntries < 1 || l.DedupRevisions < 1 || l.PruneKeys < 1 {
		return fmt.Errorf("kv: limits %+v: each must be at least 1", l)
	}
	return nil
}

// ErrDamaged is wrapped by errors that mean the image does not hold what was folded into it. The node must stop: it
// can neither go on nor serve.
var ErrDamaged = errors.New("damaged state image")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrDamaged, fmt.Errorf(format, args...))
}
