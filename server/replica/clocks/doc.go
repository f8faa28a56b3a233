// Package clocks finds out whether this node's elapsed clock may be trusted with leases, by comparing its rate with
// those of its peers. It is pure: readings of clocks, and stamps from peers, enter as arguments. It is for one
// goroutine at a time.
//
//	rates.go  bounds on how much faster or slower each peer's clock runs, from the stamps that two nodes exchange
//	watch.go  whether this node takes part in leases, by these bounds and by how long its machine was suspended
package clocks
