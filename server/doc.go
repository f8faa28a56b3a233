// Package server starts a node, connects its parts and stops it in order. It holds nothing else:
//
//	run.go, listen.go, join.go   the order of a start and of a stop; the ports; membership
//	redis.go                     the protocol that can be left out
//	joining.go, letin.go         a node that joins a cluster, and the other side of that
//	startrun.go                  the start record (A4), and the pure parts of a run
//	access.go                    who decides, and why a node without --acl serves no cluster with tokens
//	wire.go                      what runs the parts, and how they are connected
//	config.go, identity.go       what a node may be told, and what its data directory contradicts
//	config_derive.go, tls.go     what follows from that; certificates
//	clientlimits.go              what clients may take of a node, also at the port for health checks
//	stage.go, startlog.go        what a supervisor is told of a start, and the log
//	auditlog.go, guardian.go     the audit log of this node, and its guardian
//
// Errors about a Config name the flags of kvnode that set its fields: they are for who has typed them, and the package
// has no other user.
//
// # Threads of a node
//
//	elector        runs elector.Round; never waits for anything but its inbox and its timer
//	log            runs replica.LogRound; hands persists to the persister, messages to the transport, replies to handlers
//	persister      commits what the log handed it, all of it as one record of the journal; reports back to the log
//	checkpointer   writes applied changes to the state database in the background
//	named leases   runs leases.Round; a writer of buckets beside it
//	snapshots      one sends the state to members that are too far behind, another receives it for this node
//	disk           measures the disk four times a second; others scrub state.db and give back its free pages
//	guardian       waits for the end of the guardian process, to start it again (package guardian)
//	transport      readers and writers of the peer connections (package transport)
//	web            one goroutine a client request (package web)
//
// DESIGN.md follows one write and one read through the threads. docs/design.md says what each package is for, and which
// have a page that argues for them.
package server
