// Package admission bounds what strangers can take of a node: connections, requests in flight, waits and rates, in all
// and for each of those who ask. DESIGN.md beside it argues why these bounds and not others.
//
//	limits.go    Limits: every bound, its default, and what makes no sense
//	source.go    Source: the address that a connection comes from, as far as it counts
//	conns.go     Conns: who may open a connection, and which connections are kept for operators
//	reserve.go   the connections beyond the ordinary ones, and how they end
//	requests.go  requests in flight
//	waiting.go   Places: waiting queries and watches of each client
//	rate.go      Rates: requests a second of each client
//	control.go   Control: all of them, as the listeners of a node share them
//	metrics.go   how often each limit was reached
//
// server/transport counts the connections of its port for peers by Source, too.
//
// The package knows no protocol: a listener asks Conns for each connection that it accepts, and a handler asks for each
// request. Whoever was let in gives back what it was given. All methods may be called by several goroutines.
package admission
