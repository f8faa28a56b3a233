// Package workload drives a cluster with clients and records what they saw.
package workload

import (
	"fmt"
	"sync"

	"tenure/jepsen/check"
)

// keyring hands out the key that a group of clients works on; after check.MaxOpsPerKey uses it moves on to a new one.
type keyring struct {
	mu     sync.Mutex
	prefix string
	key    int
	uses   int
}

func (k *keyring) next() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.uses == check.MaxOpsPerKey {
		k.key, k.uses = k.key+1, 0
	}
	k.uses++
	return fmt.Sprintf("%s%d", k.prefix, k.key)
}
