// Package resp serves the Redis protocol: the same store and the same keys as HTTP, for clients that exist in every
// language and send many commands at a time.
//
// What lives here: connections and their limits, the commands and what they answer, transactions of connections. What
// does not: anything that decides whether a write is applied or a read is fresh. That is the Backend's, as it is for
// package web, and an error of it never becomes a better one here: "unknown" stays unknown.
//
// # The way of a command
//
//	proto        splits what arrives into commands, and makes replies
//	conn.go      takes all commands that have arrived, runs each, executes the batch, sends all replies in one go
//	commands.go  the table: name, number of arguments, where the keys are, who runs it
//	strings.go, keys.go, connection.go, transactions.go
//	             turn a command into steps of the batch, or into a reply that is known at once
//	permission.go, refused.go
//	             the one way to the Backend, which decides whether the client may; what becomes of a batch that it
//	             may not have carried out whole
//	login.go, admit.go, trail.go
//	             AUTH; the limits of clients; what the audit log is told
//	reader.go    who is told of changes, as a client that may not read everything
//	subscriptions.go, watching.go, tracking.go, notifier.go
//	             who is told of changes, and the goroutine of each such connection that does it
//	nodes.go, sentinel.go, wait.go
//	             what this node knows of the others: who is master, and where
//	batch.go     what has been asked for and not carried out yet; as one sequence of the log if it writes, else as one
//	             read
//	errors.go    what a client is told when the Backend refuses, or does not know
//
// DESIGN.md says why it is built so.
package resp
