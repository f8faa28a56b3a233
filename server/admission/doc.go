// Package admission bounds the resources that strangers can take of a node: connections, requests in flight, waits and
// rates, in all and for each source or client. DESIGN.md beside it argues for these bounds.
//
//	limits.go    Limits: the bounds that can be set, with their defaults and ranges
//	source.go    Source: the address of a connection, as it is counted
//	conns.go     Conns: the bounds on connections
//	pending.go   Pending: connections over TLS with an unfinished handshake
//	reserve.go   the connections beyond the ordinary ones, and how they end
//	requests.go  requests in flight
//	waiting.go   Places: waiting queries and watches of each client
//	rate.go      Rates: requests a second of each client
//	control.go   Control: all of these, shared by the listeners of a node
//	metrics.go   how often each limit was reached
//
// server/transport counts the connections of its port for peers by Source, too.
//
// The package knows no protocol: a listener asks Conns for each connection that it accepts, and a handler asks for each
// request. The caller releases everything that it was granted. All methods may be called by several goroutines.
package admission
