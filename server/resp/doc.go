// Package resp serves the Redis protocol: the same store and the same keys as HTTP, for clients that exist in every
// language and send many commands at a time.
//
// The package has connections and their limits, commands with their replies, and transactions of connections. It never
// decides whether a write is applied or a read is fresh: the node does. An error of the node never becomes a better one
// here: "unknown" stays unknown.
//
// # The way of a command
//
//	proto        splits what arrives into commands, and makes replies
//	server.go, config.go
//	             the listener, and how it is configured
//	conn.go      takes all commands that have arrived, runs each, executes the batch, sends all replies in one go
//	commands.go  the table: name, number of arguments, who runs it
//	strings.go, keys.go, pairs.go, expire.go, hello.go, transactions.go, scripts.go, leases.go, tenure.go
//	             turn a command into steps of the batch, or into a reply that is known at once
//	replies.go   replies to commands whose steps came to results
//	listing.go, scan.go, random.go, byclient.go
//	             look at many keys; the cursors of SCAN; RANDOMKEY; the bounded tables that clients share
//	info.go, figures.go
//	             what this server is, and INFO
//	store.go, view.go, refused.go
//	             the way to the node, as this client; what of a batch is left when some of it is denied
//	handshake.go, login.go, admit.go, metered.go, trail.go
//	             TLS; AUTH; the limits of clients; lines of the audit log
//	reader.go    the permissions of a client that receives changes
//	subscriptions.go, eventflags.go, watching.go, tracking.go, notifier.go
//	             subscriptions, and the goroutines of a connection that send changes
//	nodes.go, sentinel.go, wait.go
//	             this node's view of the others: the master and the addresses
//	batch.go     what has been asked for and not carried out yet
//	executor.go, reads.go, unread.go
//	             carry out the batch: as one sequence of the log if it writes, else as one read
//	sender.go    the replies that are not sent yet, and how they are sent
//	errors.go, survive.go
//	             replies to errors of the node, to unknown outcomes, and after a fault of this package
//
// # The size of a value
//
// No value has more than MaxValueBytes. Config.limits gives the bound to the proto.Reader. Its method argument drops a
// command with a larger argument, and conn.tooLarge refuses it. APPEND makes a value from two: the bound goes with the
// command (appendTo in strings.go), and the log enforces it.
//
// DESIGN.md says why it is built so.
package resp
