// Package members holds the rules by which the members of a cluster change: the replicated record of the members, the
// operations on it, and the order of records.
//
// Only pure code lives here: values in, values out. It knows no message and no clock; [Facts] describes the nodes to
// it. The master (package replica) asks for the next record and proposes it as an entry of the log. It does so only
// when it has applied every lower slot and nothing is in flight. So a record is always computed from the very record
// that it replaces. An entry holds the whole next [Record]: to apply it is a replacement, the same on every node. DESIGN.md
// argues for the rules.
//
// One record begins an operation ([Operation]), several may follow, and one ends it. The next step is read from the
// membership, not from a counter, so a new master goes on where the old one stopped.
//
// # Where the rules are
//
//	one voter at a time is added or removed              change.go   promote, remove; each is one record
//	C(k+1) only once C(k) is settled                     next.go     mayChangeVoters
//	which acknowledgements are enough to begin to wait   settled.go  Blocks
//	ids are never used again                             change.go   admit
//	removed names are remembered                         change.go   remove, addName
//	their certificates let nobody in                     begin.go    Begin
//	an era for each change of the voters (N3)            change.go   newNumber
//	a voter only when caught up, and of one mind         next.go     promoteStep, compareStep
//	done only when the new voter votes                   next.go     electStep
//	never remove first and then wait for a copy          next.go     replaceStep
//	a majority of what is left is alive, or it is forced quorum.go   leavesMajority
//	the master hands over before its own removal         next.go     removeStep
//	one operation at a time, each id once                begin.go    Begin
//	no two members with one name or peer address         fits.go     clash
//	a dispute is decided only by who says so             fits.go     fitsDispute
//	an operation is taken back where it still can be     cancel.go   Cancel
//	spares take one seat at a time                       spare.go    spareTurn, seatStep
//	what a command would do, and what is survivable      explain.go  Explain
package members
