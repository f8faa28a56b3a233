// Package transport carries the messages of one node to its peers and back, and forms the cluster.
//
// One TCP listener serves all peers. Between two nodes there are three connections, one for messages of the master
// lease, one for the log and one for named leases, so that a lease never waits behind a large log frame. The node with
// the lower id dials all of them; each carries messages both ways. If it does not, because it does not know the other
// node, the one with the higher id dials. It also says where it is: if the other one dials it at an address where it no
// longer is, it is refused, and dialled there. Package wire knows the bytes. Bodies on established connections are
// opaque here, but for their types and for keepalives. This package holds goroutines and sockets; it decides nothing
// about leases or the log.
//
// A Transport consists of components that own their state; one may be handed those above it, never the Transport:
//
//	rareLog     log lines that strangers can cause, each at most once in a while   rarelog.go
//	sockets     open connections and their goroutines, bounded; dialling           sockets.go
//	conn        a connection during the handshake or the bootstrap                 conn.go, tls.go
//	history     what peers have had, so that a store that lost it is refused       history.go
//	handshaker  both sides of the handshake                                        handshake.go, refusal.go
//	queue       what waits to be written, bounded by count and bytes               queue.go
//	link        an established connection: one goroutine reads, one writes         link.go
//	peer        another member: its connections, what it said, what was counted    peer.go
//	table       the membership that this node goes by, and the peers of it         peertable.go
//	            who was a member, and is none any more                             former.go
//	peers       all of them: dialling, accepting, sending, releases of guardians   peers.go, dial.go, release.go
//	joiner      asks a member to let this node in, and the other side of that      join.go, joincommand.go
//	bootstrap   what this node knows of the forming of its cluster                 bootstrapstate.go
//	asker       asks the other listed nodes, and forms the cluster                 bootstrapask.go, bootstraplist.go
//	answerer    answers those who ask                                              bootstrapanswer.go
//	listener    accepts connections                                                listener.go
//	Transport   Listen, Bootstrap, Serve, Send…, Close                             transport.go, bootstrap.go
//
// With Config.TLS a connection is encrypted, and nothing is read from it before the other side has shown the certificate
// of a node of this cluster (tls.go); a node is taken as the member of an id only with the name that the membership has
// for that id, and nobody with the name of a member that was removed. Without it the connection is neither encrypted
// nor authenticated. The handshake itself catches mistakes (a wrong address, a foreign disk, contradicting settings),
// not malice.
package transport
