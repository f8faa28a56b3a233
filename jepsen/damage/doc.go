// Package damage plants faults of a disk in the files of real nodes, while they are stopped and while they run, and
// asks them for every key they hold.
//
// A round takes a node from the same files, as a copy of which each worker keeps them in memory, plants one fault, and
// starts the node, or plants it while the node runs and writes. It asks for each key, stale, and for listings, ends the
// node, starts it again and asks once more. What holds of every round:
//
//   - an answer is what was written, or there is none;
//   - a node that ends, or does not start, names the file on a line of its own, and does not crash.
//
// The nodes are alone in their clusters: nobody else can give back what one has lost, so an acknowledged write that is
// gone shows as a wrong answer. Some rounds start a node that has received a snapshot and not installed it.
//
//	template.go  makes the files that rounds begin with
//	fault.go     draws a fault, and plants it
//	round.go     one round; client.go: what it asks and writes
//	run.go       the campaign; table.go: what came of it
package damage
