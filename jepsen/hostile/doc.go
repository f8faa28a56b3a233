// Package hostile floods a cluster of real processes the ways in which strangers on a network do, and measures what the
// cluster's other clients notice of it.
//
// Beside checked load, each flood goes to an idle program on the same machine for a while, and to the cluster for as
// long, in turns. The load's latency beside the first flood shows the effect of the machine, so the difference is the
// effect on the cluster. The flood comes from another address of the machine than the load and the operators; the nodes
// run with --limit-loopback, which makes each such address a stranger's.
//
//	run.go     the whole of it
//	bed.go     the cluster and the node that are flooded
//	flood.go   a flood and its counts
//	floods.go  all floods; floods_slow.go, floods_many.go and floods_odd.go have their actions
//	cases.go   single connections that must get one answer and no other
//	sink.go    the idle program
//	watch.go   memory, master and status of the nodes meanwhile
//	report.go  bounds, verdicts and the table
package hostile
