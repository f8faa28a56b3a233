// Package elector is a node's part for the master's lease: the proposer and acceptor of the resource "master", and the
// policy of when to try, to renew and to stand back.
//
// It is pure, as package replica is: [Round] drives a [Part], the runner or the simulator carries out its effects, and
// time enters as readings of the node's elapsed clock. A goroutine of its own steps it, so that the lease never waits
// for the log or the disk. The membership in force, and orders to give the lease up, come in as events.
//
//	round.go                  the driver and its events
//	part.go                   attempts, renewals, releases, and the waits between attempts
//	pace.go                   how long a lease each attempt asks for
//	members.go                changes of the members
//	letgo.go                  when the lease is given up because its holder gets nowhere (M6): by order of the log part,
//	                          because that hangs, or because the clock cannot be trusted
//	tenures.go, causes.go     why each tenure began and ended, for people
//
// # Where the rules are
//
// The policy is liveness only. Package lease keeps the rules of a proposer and of an acceptor; the others are here:
//
//	T2  an event is handled by a reading made after it came   order
//	P6  nobody acts as owner when its Release leaves          order
//	P7  the guardian knows a ballot before its Accept leaves  order
//	P7  no Accept leaves behind its Release                   Part.route
//	A3  nobody gives up the lease of another                  Part.deliver
//	M6  a barred node starts no attempt                       Part.doDue
//	M6  a node whose log hangs lets go                        View.logHangs
//	    a node that is no voter starts none, and gets no vote Part.votes, Part.foreign
//	    voters try in turn after an owner, seldom at once     Part.rank
package elector
