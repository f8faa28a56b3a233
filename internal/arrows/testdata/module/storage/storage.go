package storage

import (
	"go.etcd.io/bbolt"

	"tenure/kv"
	"tenure/lease" // want "it may import storage/internal/disk, storage/internal/space, storage/internal/acceptor, storage/internal/state, storage/internal/pages, storage/journal, multipaxos, kv and leaves"
	"tenure/multipaxos"
)
