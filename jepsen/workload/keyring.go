// Package workload drives a cluster with clients and records what they saw.
//
//   - all.go: the workloads, and the reading of everything at the end
//   - worker.go: one client
//   - register.go: the first workload, and Config; txn.go, lock.go, lease.go, sessions.go, watch.go: later ones
//   - session.go, leasehttp.go, leasecall.go, stream.go, raw.go: sessions, locks, leases and streams by plain HTTP;
//     typed.go: by the client's calls
//   - ledger.go, counter.go: simpler ones for the stories of package show
package workload

import (
	"fmt"
	"sync"
)

// keyring hands out the key that a group of clients works on; after limit uses it moves on to a new one.
type keyring struct {
	mu     sync.Mutex
	prefix string
	limit  int
	key    int
	uses   int
}

func (k *keyring) next() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.uses == k.limit {
		k.key, k.uses = k.key+1, 0
	}
	k.uses++
	return fmt.Sprintf("%s%d", k.prefix, k.key)
}
