package backend

import "tenure/server/web"

// Backend carries out the requests of a running node.
type Backend struct {
	*KV
	*Leases
	*Transfers
	*Cluster
	*Members
	*Backups
	*Upgrades
	*Questions
}

var _ web.Backend = (*Backend)(nil)
