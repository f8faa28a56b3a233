// Package backend carries out the requests that web and resp take from clients, and those of other nodes: it implements
// web.Backend. Each type here carries out the requests about one resource: what the runners answer becomes what a
// client is told. Status, readiness and metrics are read from what the runners publish, and wait for nobody.
//
// # Where things are
//
//	Backend    the types below, joined                               backend.go
//	Front      what a node answers before it is a member             front.go, stage.go
//	KV         keys, transactions and sessions                       kv.go, kv_reads.go
//	Leases     named leases                                          leases.go, leases_list.go
//	Transfers  mastership: a transfer, and handing it over           transfers.go
//	Cluster    status and readiness of the node and its peers        cluster.go, status.go, problem.go
//	Members    the members, changes of them, and drains              members.go, memberslist.go, drains.go, addresses.go
//	Backups    backups, and restores into a running cluster          backups.go, restores.go
//	Upgrades   the feature level                                     upgrades.go
//	questions  requests that this node passes on to another one      questions.go
//	           the node's figures                                    metrics*.go, keycount.go
package backend
