package workload

import (
	"fmt"
	"sync"
)

// keyring returns the key that a group of clients works on. After limit uses it moves on to a new key.
type keyring struct {
	mu     sync.Mutex
	prefix string
	limit  int
	key    int
	uses   int
}

// next returns the key to use.
func (k *keyring) next() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.uses == k.limit {
		k.key, k.uses = k.key+1, 0
	}
	k.uses++
	return fmt.Sprintf("%s%d", k.prefix, k.key)
}
