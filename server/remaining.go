package server

import (
	"time"

	"tenure/kv"
)

// Remaining is about how long the time that runs on name has; false if none is known to run.
func (n *Node) Remaining(kv.TimedKind, string) (time.Duration, bool) { return 0, false }
