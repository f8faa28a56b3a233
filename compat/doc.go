// Package compat runs programs and libraries that people use today, unmodified, against clusters of real kvnode
// processes. It is a module of its own, to keep their dependencies out of Tenure's. Nothing imports it.
//
//	cluster_test.go   builds the programs once and starts clusters
//	upstream_test.go  the tests that hashicorp/consul/api brings along, through the stand-in for a consul in ./consul
//	consulapi_test.go hashicorp/consul/api: keys, sessions, transactions, blocking queries on three nodes
//	failover_test.go  the same library's locks, semaphores and watch plans while the master is killed
//	template_test.go  consul-template renders, also while the master is killed
//	guarded_test.go   the library with a token, over TLS; see also ./vault, a module of its own for HashiCorp Vault's storage
//	keys_test.go      ten thousand awkward keys, byte for byte
//	s3_test.go        backups in the buckets of a versitygw, which s3server_test.go builds and starts
//	browser_test.go   pages that are up to no good, in a real Chromium; browser/attack.html is what they try
//	manifests_test.go packaging/kubernetes by the types of Kubernetes, and packaging/container by those of Compose
//	clients_test.go   clients in other languages, each a script in ./clients
//
// Larger programs have scripts of their own; README.md lists them all, with what came of each.
package compat
