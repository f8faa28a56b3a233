package client

import (
	"go.etcd.io/bbolt" // want "only storage, storage/internal/disk, storage/internal/sealed, storage/internal/space, storage/internal/acceptor, storage/internal/state, storage/internal/pages, storage/etcdsnap may"

	"tenure/server"
)
