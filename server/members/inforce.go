package members

import "tenure/internal/quorum"

// InForce is a membership that is chosen, applied and durable on this node: from now on its lease parts use it. They
// learn of no other. So no vote or attempt is ever under a membership that the log might still replace, or that a crash
// would make this node forget.
type InForce struct {
	Number uint64     // the stamp; 0 counts as 1
	Voters quorum.Set // never empty
	Era    uint32     // of named leases, allotted with that number (N3)
}
