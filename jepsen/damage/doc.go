// Package damage plants disk faults in the files of real nodes, while they are stopped and while they run, and then
// reads every key from them.
//
// Each worker keeps a copy of a node's files in memory. A round restores these files, plants one fault, and starts the
// node, or plants the fault while the node runs. It reads every key, stale, and a listing, stops the node, starts it
// again and reads once more. Every round must satisfy:
//
//   - Every answer is the written value. A missing answer is allowed.
//   - A node that ends, or refuses to start, names the file in its last line, and does not crash.
//
// Each node is alone in its cluster, so no other node can replace what it has lost, and a lost acknowledged write shows
// as a wrong answer. Some rounds start a node that has received a snapshot and not installed it.
//
//	template.go  makes the files with which rounds begin; received.go: those with a received snapshot
//	fault.go     draws a fault, and plants it
//	round.go     one round; client.go: its requests, and the check of the answers
//	run.go       the campaign; table.go: its results
package damage
