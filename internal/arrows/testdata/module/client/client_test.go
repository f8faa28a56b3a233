package client

import (
	"go.etcd.io/bbolt" // want "only storage, storage/internal/disk, storage/pages, storage/etcdsnap may"

	"tenure/server"
)
