// Package compare plays three lease algorithms under the same schedules: PaxosLease (package lease, which the product
// uses), Flease (compare/flease) and the naive majority vote (compare/majority). It drives the real cores; the figures
// in docs/leases-compared.md are its output.
//
// A schedule is a function of its seed and of true time only. When a message leaves a node for another, the seed
// decides how long it takes, whether it is lost, and whether it comes twice, whatever its contents. Crashes, stops and
// the errors of clocks are drawn before the run. So the algorithms meet the same network and the same faults. The shell
// around them is one and the same, too: when to try, after which random wait to try again, when to renew, when to
// resend.
//
// Each node has two clocks, as a machine has. One tells elapsed time and is never set; PaxosLease and the vote read it.
// The wall clock is kept near the others' wall clocks; Flease reads it.
//
// The simulator is single-threaded, and one seed is one run. Runs are independent, and made by several goroutines.
//
//	core.go leasecore.go fleasecore.go votecore.go   the three cores behind one face
//	schedule.go weather.go clock.go                  what a seed says
//	world.go node.go event.go                        the simulator and the shell
//	cost.go contention.go clocks.go                  the three questions
//	report.go                                        the tables
package compare
