package client

import (
	"go.etcd.io/bbolt" // want "only storage may"

	"tenure/server"
)
