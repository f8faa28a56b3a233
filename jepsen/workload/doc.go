// Package workload drives a cluster with clients and records what they saw.
//
// What clients do:
//
//	workload.go            the list of workloads
//	final.go               the reads at the end of a run
//	register.go, grow.go, txn.go, lock.go, sessions.go, lease.go, watch.go
//	                       one workload each, or a few that are alike
//	redis.go               workloads of both protocols; redis_lock.go: locks
//	ledger.go, counter.go  simpler ones for the demonstrations of package show
//
// What one client consists of (worker.go):
//
//	generator.go          its random choices and the values that it writes
//	conn.go               its connection to the cluster, and the record of its operations
//	ops_keys.go, ops_txn.go, ops_sessions.go, ops_leases.go, ops_streams.go
//	                      the operations, each recorded
//	resp.go, ops_resp.go  the Redis protocol, and the operations over it
//	http.go, http_lease.go, http_stream.go
//	                      the same requests by plain HTTP, without the help of package client
//	keyring.go            the keys that a group of clients works on
package workload
