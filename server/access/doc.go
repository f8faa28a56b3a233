// Package access is the one place that decides what a request may do. A request is somebody (the secret of a token, a
// client certificate, or nothing), and what it needs, each an acl.Permission. It knows nothing of HTTP or of where
// tokens are kept: the node publishes to it each newer state of tokens and policies that it has applied. DESIGN.md argues
// why it is built so, and says what is not promised.
//
//	decider.go      Decider: what this node knows, and who is told of news
//	subject.go      subject: a token and what it allows, kept while the tokens and policies stay as they are
//	needs.go        EachNeed: what a command of the log needs
//	request.go      Request: one request, what it needed so far, and the decision on that
//	errors.go       what a refusal says
//	catchup.go      rounds of reads from the master, shared by all who would be refused
//	credentials.go  Credentials: who a request says it is
//	bootstrap.go    whether the first token may be made
//	reset.go        the file with which an operator allows one more bootstrap
package access
