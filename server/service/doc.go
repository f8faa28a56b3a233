// Package service is what a client may ask of a node, below all protocols: they parse a request and render its answer.
//
// # Where things are
//
//	front.go               whether there is a node yet, and whether it serves
//	service.go             the part of a listener's configuration that all protocols have
//	request.go             a request; no other way leads to keys, sessions and leases
//	permit.go, needs.go    who asks, and what was found allowed; what may be asked of that
//	bounds.go              what it takes of the bounds on all clients
//	line.go                what the audit log says of it
//	requestwrites.go       a command is applied once; where one copy is refused, an earlier one may have been applied
//	requestreads.go        a read is decided again after it
//	requestleases.go       one that waits ends when it is no longer allowed
//	requestsessions.go     who may end a session; what of a session or a key only this node knows
//	requestmembers.go      members, mastership, the feature level, backups
//	requestacl.go          tokens and policies
//	leasecommand.go        what a client may say of a lease
//	grant.go               what a client keeps of a lease
//	errors.go, codes.go    what is answered instead of a result; its code, and what that says of the outcome
//	results.go             the same of what the log did not carry out
//	node.go                what a node does for all that: the types of reads.go, writes.go, leases.go, members.go and
//	                       backups.go, joined
package service
