package flease

import (
	"errors"
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// ErrConfig is wrapped by every error about a configuration.
var ErrConfig = errors.New("flease")

// maxSpan bounds t_max and ε (36 years), so that no sum of them with a reading of a clock overflows.
const maxSpan = time.Duration(1) << 60

// Config is fixed for a run of a process. All processes share everything in it but Self and Silent.
type Config struct {
	Self   ballot.NodeID
	Voters quorum.Set    // the processes that keep the register
	Lease  time.Duration // t_max: how long a lease lasts, from the start of its attempt
	Skew   time.Duration // ε: no two clocks ever read further apart
	// Silent is the reading of the clock before which this run keeps silent (F7): the reading at its start plus
	// RestartWait, or 0 in the run in which the register was made.
	Silent time.Duration
}

// Validate refuses a configuration under which no process may run.
func (c Config) Validate() error {
	switch {
	case !isNode(c.Self):
		return fmt.Errorf("%w: node id %d is not 1 to %d", ErrConfig, c.Self, ballot.MaxNodeID)
	case c.Voters.Len() == 0:
		return fmt.Errorf("%w: no voters", ErrConfig)
	case c.Skew < 0 || c.Lease <= c.Skew || c.Lease >= maxSpan:
		return fmt.Errorf("%w: a lease of t_max = %v with clocks apart by ε = %v does not satisfy 0 ≤ ε < t_max < %v",
			ErrConfig, c.Lease, c.Skew, maxSpan)
	}
	return nil
}

// RestartWait is F7: how long a process that has forgotten everything keeps silent, by its own clock. The paper's t_max
// would be enough if clocks never differed in another way than before, and ballots were never ahead of the clock;
// DESIGN.md has the sum.
func (c Config) RestartWait() time.Duration { return c.Lease + 3*c.Skew }

// silent is F7: whether what this process said before it lost its memory may still bind it. It then neither answers nor
// asks.
func (c Config) silent(now time.Duration) bool { return now < c.Silent }

func isNode(n ballot.NodeID) bool { return n >= 1 && n <= ballot.MaxNodeID }
