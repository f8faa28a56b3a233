// Package snapshots decides how a node that lacks entries truncated by the others gets the state instead. The node asks
// one other node for a few pieces at a time, builds a state database from them, and begins its next run with it.
//
//	receiver.go  [Receiver]: which node is asked, and when a transfer is given up
//	sender.go    [Sender]: how fast pieces go, and how long a snapshot and the log behind it are kept
//	message.go   what the two say to each other
//
// Both are pure. They are no components of the log part, since reading and writing pieces must not hold up a round: the
// caller carries their steps out, one at a time. Each is for one goroutine at a time.
package snapshots
