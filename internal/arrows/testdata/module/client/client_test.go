package client

import (
	"go.etcd.io/bbolt" // want "only storage, storage/etcdsnap may"

	"tenure/server"
)
