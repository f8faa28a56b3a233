package resp

import (
	"slices"
	"sync"
)

// byClient is a bounded table of what clients of a node have, by client and key. A client that has each entries loses
// its oldest for a new one. When all clients together have all entries, the client with the most loses its oldest. So
// nobody pushes out what belongs to a client that has less. It is safe for concurrent use.
type byClient[K comparable, V any] struct {
	each, all int // at least 1

	mu      sync.Mutex
	of      map[string]*entries[K, V]
	total   int
	changes uint64
}

// entries are those of one client, the oldest first.
type entries[K comparable, V any] struct {
	list    []entry[K, V]
	changed uint64 // byClient.changes after the last one
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// find returns where the entry of a key is, -1 if there is none.
func (e *entries[K, V]) find(key K) int {
	if e == nil {
		return -1
	}
	return slices.IndexFunc(e.list, func(e entry[K, V]) bool { return e.key == key })
}

// put makes value the newest entry of the client, and that of key.
func (b *byClient[K, V]) put(client string, key K, value V) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == nil {
		b.of = make(map[string]*entries[K, V])
	}
	own := b.of[client]
	switch at := own.find(key); {
	case at >= 0:
		b.drop(client, at)
	case own != nil && len(own.list) == b.each:
		b.drop(client, 0)
	case b.total == b.all:
		b.drop(b.largest(), 0)
	}
	if own = b.of[client]; own == nil {
		own = &entries[K, V]{}
		b.of[client] = own
	}
	b.changes++
	b.total++
	own.changed = b.changes
	own.list = append(own.list, entry[K, V]{key, value})
}

// drop takes one entry out, with mu held.
func (b *byClient[K, V]) drop(client string, at int) {
	own := b.of[client]
	own.list = slices.Delete(own.list, at, at+1)
	b.total--
	if len(own.list) == 0 {
		delete(b.of, client)
	}
}

// largest returns the client with the most entries, of several the one that has put none for the longest time. mu is
// held, and there are entries.
func (b *byClient[K, V]) largest() (client string) {
	var most *entries[K, V]
	for name, e := range b.of {
		if most == nil || len(e.list) > len(most.list) || len(e.list) == len(most.list) && e.changed < most.changed {
			client, most = name, e
		}
	}
	return client
}

// get returns the client's entry of a key.
func (b *byClient[K, V]) get(client string, key K) (value V, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at := b.of[client].find(key); at >= 0 {
		return b.of[client].list[at].value, true
	}
	return value, false
}

// keys returns those of the client's entries, the oldest first.
func (b *byClient[K, V]) keys(client string) []K {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.of[client]
	if own == nil {
		return nil
	}
	list := make([]K, len(own.list))
	for i := range list {
		list[i] = own.list[i].key
	}
	return list
}

// len returns how many entries there are.
func (b *byClient[K, V]) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}
