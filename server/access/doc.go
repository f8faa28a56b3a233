// Package access is the one place that decides what a request may do. A request has an identity (the secret of a token,
// a client certificate, or nothing) and needs, each an acl.Permission. The package knows neither HTTP nor the storage
// of tokens: the node publishes to it each newer state of tokens and policies that it has applied. DESIGN.md argues why
// it is built so, and lists what is not promised.
//
//	decider.go      Decider: this node's tokens and policies, and notice of newer ones
//	subject.go      subject: a token with its permissions, cached while tokens and policies stay unchanged
//	needs.go        EachNeed: the permissions for a command of the log
//	request.go      Request: one request, its needs so far, and the decision about them
//	while.go        a context that ends when a request is not allowed any more
//	errors.go       the errors of refusals
//	catchup.go      rounds of reads from the master, shared by all requests that would be refused
//	credentials.go  Credentials: the identity of a request
//	bootstrap.go    whether the first token may be made
//	derive.go       the secret of a token that a request makes, the same for each copy of the request
//	reset.go        the file with which an operator allows one more bootstrap
package access
