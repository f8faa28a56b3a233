package kv

import (
	"errors"
	"fmt"
)

// ErrDamaged is wrapped by errors that mean the state database does not hold what was checkpointed into it. The node
// must stop: it can neither go on nor serve.
var ErrDamaged = errors.New("damaged state database (state.db)")

// damaged returns an error about the content of the state database. Its text says what to do, as those of package
// storage do.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %w; take this node out of service and replace it; do not start it on this directory again",
		ErrDamaged, fmt.Errorf(format, args...))
}
