// Package script plays stories that are written down as text: commands, and below them what must come of them. The
// stories are those of the papers and articles behind this store, told in virtual time to the real cores.
//
// A script is read from top to bottom. A block is one command a line, then a line of four dashes, then the output of
// those commands up to the next empty line. Lines that start with # are comments and stand between blocks.
//
//	# Node 1 asks all three acceptors.
//	start 1
//	run to=1s
//	----
//	  0.000  1 starts 1@1.1, deadline 5.000
//	  0.500  1→A,B,C Prepare 1@1.1: Promise
//
// The first command names the stage, with its sizes; the same command later clears the stage for the next scene.
//
//	stage    plays                                                            where
//	cell     lease.Proposer and lease.Acceptor, message by message            cell.go, cellrun.go, celltell.go
//	cluster  elector.Part and replica.Log with multipaxos and kv              cluster.go, clusternode.go, clusterrun.go
//
// Output that differs from what the script says is for the caller to look at (a test shows the difference, or rewrites
// the script on request). Two things are never a matter of output: a want that does not hold, and a rule that a stage
// watches by itself (one owner, one master) and sees broken. These are errors, whatever the script expects.
//
// What a story needs belongs here; a search for faults does not. Nothing here draws a random number or reads a clock.
package script
