// Package backend carries out the requests that web and resp take from clients, and those of other nodes: it implements
// service.Node. Each type here carries out the requests about one resource: what the runners answer becomes what a
// client is told. Status, readiness and metrics are read from what the runners publish, and wait for nobody.
//
// # Where things are
//
//	Backend    the types below, joined                               backend.go
//	KV         keys, transactions and sessions                       kv.go, kv_reads.go
//	Leases     named leases                                          leases.go, leases_list.go
//	Transfers  mastership: a transfer, and handing it over           transfers.go
//	Cluster    status and readiness of the node and its peers        cluster.go, status.go, problem.go, cutoff.go,
//	           and the list of the members                           members_list.go
//	           what the cluster would be without this node           ifstopped.go
//	Samples    how busy the node was in the last minutes             samples.go
//	SelfReports what the members say of themselves                   reports.go
//	Members    changes of the members, and drains                    members_change.go, drains.go, addresses.go
//	Backups    backups, and restores into a running cluster          backups.go, restores.go
//	Upgrades   the feature level                                     upgrades.go
//	Questions  what nodes ask each other                             questions.go, kinds.go
//	           the node's figures                                    metrics*.go, keycount.go
//
// # Questions to other nodes
//
// A request that another node must carry out becomes a question to that node. The master is asked for a change of the
// members, a transfer and a higher feature level. For a drain, and for what a node says of itself, the node itself is
// asked. Each kind of question has a function that answers it. The function runs at the node that is asked, which may
// be this one. The caller gets the error of the function, wherever it ran:
//
//	nil                   it is done
//	*service.Error        refused: nothing was changed, and asking again does not help
//	*notTaken             nothing was changed; another node may do it, or the same one later
//	service.ErrUnknown    it may have been done: never asked again by itself
//	service.ErrNotApplied nothing was changed; the client may ask again
//	service.ErrOverloaded it was not sent: too many of its kind wait for answers
//
// A question without an answer is unknown. One that was not sent is not taken.
package backend
