// Package server is the shell of a node: the only goroutines, the clock, the sockets and the disk. It decides
// nothing that the protocols care about; package replica does.
//
// # Threads of a node
//
//	lease loop   runs replica.ElectorRound; never waits for anything but its inbox and its timer
//	log loop     runs replica.LogRound; hands persists to the persister, messages to the transport, replies to handlers
//	persister    commits what the log loop handed it, all of it in one transaction; reports back to the log loop
//	checkpointer       merges applied changes into the state database in the background
//	watcher      measures the disk once a second
//	guardian     waits for the end of the guardian process, to start it again (package guardian)
//	transport    readers and writers of the peer connections (package transport)
//	web          one goroutine a client request (package web)
//
// The joint between the lease loop and the log loop is the gate: one atomically published replica.Published. The state
// is guarded by one RWMutex: the log loop writes for the length of one batch, readers read one key or take a snapshot.
//
// # Inner packages
//
// server/replica is pure and may not import this package; server/wire turns messages between nodes into bytes and back,
// and is pure too; server/transport knows bytes and identities, not what the frames say; server/watch knows who waits
// for which keys, and the newest changes; server/web knows HTTP and a small Backend interface, which backend.go
// implements. DESIGN.md follows one write and one read through the threads.
package server
