// Package service is what a client may ask of a node, below all protocols: they parse a request and render its answer.
//
// # Where things are
//
//	front.go               whether there is a node yet, and whether it serves
//	service.go             the part of a listener's configuration that all protocols have
//	request.go             a request; no other way leads to keys, sessions and leases
//	permit.go              who asks, and what was found allowed
//	permitneeds.go         the permissions for what is no command of the log
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
//	node.go, node*.go      what a node does for all that: Node joins the interfaces of the other files
//
// # Which function does it
//
//	a request is decided                       Permit.decide; a command of the log: Request.MayWrite
//	nobody is served yet, or any more          Front.refusal
//	decided again by a newer state:
//	  a write that the log refused             Request.Write, decideAgain
//	  a refusal that waited for the master     access.Request.settle, by Permit.decide
//	  a read, after it                         Request.Get, GetMany, Snapshot, Backup, by Permit.Again
//	  a session or lease that is not found or
//	  not allowed yet                          Request.MayEndSession, RenewLeases, by Permit.Refresh
//	  a lease that waits                       Request.Lease, by Permit.while
//	  a query or stream that waits             the protocol, after Permit.News or Expires: waits.await and eventStream
//	                                           of package web by Permit.Again, reader of package resp by KnownHere
//	a place in the bounds on clients           Bounds.Enter, Ask, TakePlace, Answer
//	the size of a value                        the protocol, where it reads the value: see packages web and resp
//	an error gets its code                     CodeOf; a result of the log: CodeOfResult
//	what a code says of the outcome            OutcomeOf
//	"unknown" is answered:
//	  the node does not know                   package backend, such as KV.outcome: ErrUnknown. Why: write.lose and
//	                                           the functions expire and lost in package replica
//	  an error does not say                    InDoubt
//	  an earlier copy may have been applied    afterDoubt
//	the audit line is filled                   the methods of Line, its outcome by OutcomeOf
//	  and written                              Request.Record, by audit.Log.Add; called in trail.go of both protocols
//	timeouts: how long the node may take       Config.ClientTimeout, or less: the protocol gives it to Request.Identify
//	  a write with all its decisions           Request.Write
//	  the wait for a busy lease                LeaseCommand.Wait, besides its Timeout
package service
