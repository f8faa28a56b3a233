// Package transport carries the messages of one node to its peers and back, and founds the cluster.
//
// One TCP listener serves all peers. Between two nodes run two connections, one for lease messages and one for the
// log, so that a lease never waits behind a large log frame. The node with the lower id dials both; each carries
// traffic both ways. Package wire knows the bytes. Bodies of established connections are opaque here, but for
// keepalives. This package holds goroutines and sockets; it decides nothing about leases or the log.
//
//	config.go      what a Transport is told, and its limits
//	refusal.go     why a connection is refused, in words for both sides
//	check.go       who may connect: the table of refusals
//	seen.go        the memory of peers that notices a store which went back in time
//	transport.go   Listen, Serve, SendLease, SendLog, Peers, Close
//	peer.go        what is known of another member; Peers
//	accept.go      inbound connections, bounded while nobody knows who they are
//	dial.go        outbound connections, with backoff
//	handshake.go   both sides of it
//	release.go     what a dead node's guardian tells its peers
//	link.go        an established connection: one goroutine reads, one writes
//	queue.go       what waits to be written, bounded by count and bytes
//	quiet.go       logging that a flood cannot turn into a flood of logs
//	bootstrap.go     Bootstrap: how a cluster comes to be, once
//	founding.go    the asking side of bootstrap
//	answering.go   the answering side of bootstrap
//	list.go        the static list of nodes
//
// The connection is neither encrypted nor authenticated. The handshake catches mistakes (a wrong address, a foreign
// disk, contradicting settings), not malice.
package transport
