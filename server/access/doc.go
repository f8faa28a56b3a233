// Package access is the one place that decides what a request may do. A request has an identity (the secret of a token,
// a client certificate, or nothing) and needs, each an acl.Permission. The package knows neither HTTP nor the storage
// of tokens: the node publishes to it each newer state of tokens and policies that it has applied. DESIGN.md argues why
// it is built so, and lists what is not promised.
//
//	decider.go      Decider: this node's tokens and policies, and notice of newer ones
//	subject.go      subject: a token with its permissions, cached while tokens and policies stay unchanged
//	uses.go         when each token was last used on this node
//	commandneeds.go EachNeed: the permissions for a command of the log
//	decide.go       Request: one request, its needs so far, and the decision about them
//	while.go        a context that ends when a request is not allowed any more
//	errors.go       the errors of refusals
//	catchup.go      rounds of reads from the master, shared by all requests that would be refused
//	credentials.go  Credentials: the identity of a request
//	bootstrap.go    whether the first token may be made
//	derive.go       the secret of a token that a request makes, the same for each copy of the request
//	reset.go        the file with which an operator allows one more bootstrap
//
// # Deciding, and deciding again
//
// Each of these decides all needs of the request so far by the newest state that the node has published. They differ in
// whether the node first catches up with the master, which is a wait for a round of catchup.go, and in whether they add
// a need. Only Request.Next drops needs.
//
//	                   waits for the master               adds a need  for
//	Request.Need       after a refusal only: settle       yes          most requests; NeedSome likewise
//	Request.NeedNow    always                             yes          changes that are no commands of the log
//	Request.NeedHere   never                              yes          callers that have just caught up, or do not refuse
//	Request.Known      after a refusal only: settle       no           requests that need nothing but a token that exists
//	Request.Again      never                              no           a read, after it; a wait, when there is News
//	Request.While      never                              no           a lease that waits: Again with each News
//	Request.AgainAt    if behind the revision, or after   no           a write that the log refused as decided by older
//	                   a refusal                                       permissions
//	Request.Refresh    always                             no           what this node does not have or allow yet
//
// May, MaySome and Missing ask the last decision and add nothing. Knows, KnowsSome and KnownAccessor ask the present
// state, decide nothing, and are hints.
//
// Package service calls these for a request about which something was asked before: Permit.Again, Permit.Refresh and
// Permit.while are Again, Refresh and While, and Request.decideAgain is AgainAt. Permit.makeSure is for a node without
// tokens: before its first change it waits once for the master, which says whether the cluster has got some.
package access
