package backend

import "tenure/server/service"

// Backend carries out the requests of a running node.
type Backend struct {
	*KV
	*Leases
	*Transfers
	*Cluster
	*Samples
	*SelfReports
	*LastUses
	*Members
	*Backups
	*Upgrades
	*Questions
}

var _ service.Node = (*Backend)(nil)
