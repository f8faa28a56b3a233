// Package transport carries the messages of one node to its peers and back, and forms the cluster.
//
// One TCP listener serves all peers. Between two nodes there are three connections, one for messages of the master
// lease, one for the log and one for named leases, so that a lease never waits behind a large log frame. The node with
// the lower id dials all of them; each carries messages both ways. If that node does not dial, because it does not know
// the other one, the node with the higher id dials. In its hello it also gives its address. If the lower node has an
// outdated address, it refuses this connection and dials the new address. Package wire defines the bytes. Bodies on
// established connections are opaque here, except for their types and for keepalives. This package holds goroutines and
// sockets; it decides nothing about leases or the log.
//
// A Transport consists of components that own their state; one may be handed those above it, never the Transport:
//
//	rareLog     log lines that strangers can cause, each at most once in a while   rarelog.go
//	sockets     open connections and their goroutines, bounded; dialling           sockets.go
//	conn        a connection during the handshake or the bootstrap                 conn.go, tls.go
//	history     the marks of peers, to refuse a store that was rolled back         history.go
//	handshaker  both sides of the handshake                                        handshake.go, refusal.go
//	queue       frames that wait to be written, bounded by count and bytes         queue.go
//	link        an established connection: one goroutine reads, one writes         link.go
//	peer        another member: its connections, its hello, its counters           peer.go
//	table       this node's membership, with its peers                             peertable.go
//	            removed members                                                    former.go
//	peers       all of them: dialling, accepting, sending, releases of guardians   peers.go, dial.go, release.go
//	joiner      asks a member to admit this node, and the other side of that       join.go, joincommand.go
//	bootstrap   this node's part in the forming of its cluster                     bootstrapstate.go
//	asker       asks the other listed nodes, and forms the cluster                 bootstrapask.go, bootstraplist.go
//	answerer    answers the asking nodes                                           bootstrapanswer.go
//	listener    accepts connections                                                listener.go
//	Transport   Listen, Bootstrap, Serve, Send…, Close                             transport.go, bootstrap.go
//
// With Config.TLS a connection is encrypted, and nothing is read from it before the other side has shown the
// certificate of a node of this cluster (tls.go). A node counts as the member of an id only if its certificate has that
// member's name in the membership. A certificate with the name of a removed member is refused. Without Config.TLS the
// connection is neither encrypted nor authenticated. The handshake itself catches mistakes (a wrong address, a foreign
// disk, contradicting settings), not malice.
package transport
