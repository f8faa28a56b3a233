// Package explore visits every state of a small world breadth first: of the real lease core, of the real log core, of
// named leases, or of the leases of jepsen/compare. It tries each order of delivery, loss, repetition, crash, restart,
// tick, renewal, release and of giving up. What it finds broken it shows by one of the shortest ways there. A search
// that a bound stopped says so; it is never called complete.
//
// # How a state is kept
//
// A state of the world is a row of numbers of its parts: each proposer, each acceptor, each set of messages on the way.
// Parts are interned by what AppendState says their future depends on. So the real code runs once for each different
// pair of a part and an input; after that its answer is remembered. A state costs 24 bytes when it is done with: its
// fingerprint of 128 bits, and the number of the state it came from. A trace is walked again from the fingerprints.
//
// # What is bounded
//
// The configuration (Config, LogConfig, NamedConfig, ChangeConfig, RivalConfig) says how many nodes, ballots, lengths and restarts
// there are. Time goes in ticks in which every clock moves by its own rate. Messages are not bounded: what was sent may
// arrive at any time, and any number of times, or never.
//
// # Which file
//
//	run.go features.go tablenames.go *config.go   what can be explored, by name
//	search.go visited.go fingerprint.go           the search, which knows nothing of what it searches
//	intern.go                                     parts, sets of messages, and the memo of what the real code did
//	common.go symmetry.go                         what all worlds share: steps, moves, what stands where in a state,
//	                                              and acceptors that can be exchanged
//	lease*.go                                     the world of the lease
//	log*.go                                       the world of the log
//	named*.go                                     the world of named leases; namedcaller.go: the duties of their users
//	change*.go                                    the world of the lease whose members change; changelog.go: the log
//	                                              and the master's duties
//	rival*.go                                     the world of Flease and the majority vote
//	trace.go script.go report.go                  what comes out: traces, replays, the table
package explore
