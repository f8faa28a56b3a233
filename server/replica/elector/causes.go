package elector

import (
	"fmt"
	"strings"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// Cause tells why a tenure of the master lease ended, as the node that had it knows it.
type Cause uint8

// The causes. Those up to CauseClock are releases (P6), the others are tenures that were not renewed in time.
const (
	CauseUnknown    Cause = iota // a hole in the bookkeeping: it never occurs
	CauseStopping                // the node stops in order
	CauseHandedOver              // handed over by command
	CauseNoSpace                 // handed over because its disk is short of space
	CauseNoProgress              // let go because it got nowhere (M6)
	CauseNoVoter                 // it is no voter any more, or hands over because it soon will be none
	CauseDiffers                 // let go because its state differs from that of a majority
	CauseClock                   // let go because its clock cannot be trusted
	CauseClockJump               // only the clock went on: the machine was suspended, or the clock jumped
	CauseLoopLate                // the lease loop did not run in time
	CauseRefused                 // acceptors refused
	CauseUnanswered              // acceptors did not answer
	causes
)

var causeNames = [causes]string{"unknown", "stopping", "handed_over", "no_space", "no_progress", "no_voter",
	"differs", "clock", "clock_jump", "loop_late", "refused", "unanswered"}

// String is the cause as metrics and the API name it.
func (c Cause) String() string { return causeNames[c] }

// Causes returns all causes, in a fixed order.
func Causes() []Cause {
	list := make([]Cause, causes)
	for i := range list {
		list[i] = Cause(i)
	}
	return list
}

// Released reports whether the owner gave the lease up by itself.
func (c Cause) Released() bool { return c != CauseUnknown && c <= CauseClock }

// Gap is what the runner has measured about the time between two steps of the lease loop. It explains a late one and
// decides nothing else. What could not be measured is 0.
type Gap struct {
	Jumped    time.Duration // by how much the elapsed clock went further than the process's own
	Processor time.Duration // processor time that the process used
	Waited    time.Duration // how long the loop's thread was ready to run and had no processor
	Faults    int64         // page faults that waited for a disk
}

// TenureEnd is the end of a tenure of the master lease by this node. Times are readings of the node's elapsed clock, or
// lengths.
type TenureEnd struct {
	Tenure uint64
	At     time.Duration // when ownership ended; it may have been noticed later
	Held   time.Duration // how long the tenure was
	Cause  Cause

	// Of a tenure that was not renewed in time:
	Late       time.Duration      // the longest time by which the lease loop woke late since the renewal was due
	Gap        Gap                // of that time
	Tries      int                // renewals begun
	Unanswered quorum.Set         // voters from which the last try had no answer
	Refused    quorum.Set         // voters that refused
	Promised   ballot.Ballot      // the highest promise that a refusal has shown
	Owner      ballot.Incarnation // another owner that a refusal has shown
}

// String is one sentence without its full stop.
func (e TenureEnd) String() string {
	switch e.Cause {
	case CauseStopping:
		return "released: this node stops"
	case CauseHandedOver:
		return "released: handed over by command"
	case CauseNoSpace:
		return "released: the disk of this node is short of space"
	case CauseNoProgress:
		return "released: this node got nowhere"
	case CauseNoVoter:
		return "released: by a change of the members this node votes no more"
	case CauseDiffers:
		return "released: the state of this node differs from that of a majority"
	case CauseClock:
		return "released: the clock of this node cannot be trusted"
	case CauseClockJump:
		return fmt.Sprintf("not renewed in time: the clock went on by %s while this process did not run "+
			"(suspended, or the clock jumped)%s",
			ms(e.Gap.Jumped), e.tries())
	case CauseLoopLate:
		return "not renewed in time: " + e.late() + e.tries()
	}
	s := "not renewed in time" + e.tries()
	if e.Late >= worthTelling {
		s += "; " + e.late()
	}
	return s
}

// worthTelling is a lateness of the lease loop that is mentioned beside another cause.
const worthTelling = 20 * time.Millisecond

func (e TenureEnd) late() string {
	g := e.Gap
	s := fmt.Sprintf("the lease loop was late by %s (meanwhile this process used %s of processor time", ms(e.Late),
		ms(g.Processor))
	if g.Waited > 0 {
		s += fmt.Sprintf(", the loop's thread waited for a processor for %s", ms(g.Waited))
	}
	return fmt.Sprintf("%s, %d page faults waited for a disk)", s, g.Faults)
}

// tries tells what the renewals met.
func (e TenureEnd) tries() string {
	if e.Tries == 0 {
		return "; no renewal was begun"
	}
	var parts []string
	if e.Refused.Len() > 0 {
		s := nodes(e.Refused) + " refused"
		if !e.Promised.IsZero() {
			s += fmt.Sprintf(", promised to node %d", e.Promised.Incarnation().Node)
		}
		if e.Owner.Node != 0 {
			s += fmt.Sprintf(", with a live lease of node %d", e.Owner.Node)
		}
		parts = append(parts, s)
	}
	if e.Unanswered.Len() > 0 {
		parts = append(parts, nodes(e.Unanswered)+" did not answer")
	}
	if len(parts) == 0 {
		return ""
	}
	s := ": "
	if e.Cause == CauseLoopLate || e.Cause == CauseClockJump {
		s = "; "
	}
	return s + strings.Join(parts, "; ")
}

// Ending tells how the tenure before one's own came to its end, as the winner knows it.
type Ending uint8

// The endings.
const (
	EndingNone     Ending = iota // no tenure before is known in this run
	EndingOwn                    // it was this node's own
	EndingReleased               // its owner released it
	EndingCrashed                // the guardian of its owner released it (P7)
	EndingExpired                // its record ran out here
	EndingUnheard                // its record lives on here; a quorum of others has none
	endings
)

var endingNames = [endings]string{"none", "own", "released", "crashed", "expired", "unheard"}

// String is the ending as metrics and the API name it.
func (e Ending) String() string { return endingNames[e] }

// Endings returns all endings, in a fixed order.
func Endings() []Ending {
	list := make([]Ending, endings)
	for i := range list {
		list[i] = Ending(i)
	}
	return list
}

// TenureStart is the beginning of a tenure of the master lease by this node.
type TenureStart struct {
	Tenure uint64
	At     time.Duration
	// Before is the last owner that this node knows, from the record of an acceptor. It may be a node that was only
	// about to own the lease.
	Before ballot.NodeID
	How    Ending
	// Ownerless is about how long nobody owned the lease, as far as this node knows; 0 with EndingNone and
	// EndingUnheard.
	Ownerless time.Duration
}

// String is one sentence without its full stop.
func (s TenureStart) String() string {
	switch s.How {
	case EndingOwn:
		return fmt.Sprintf("won again, %s after this node's own tenure had ended", ms(s.Ownerless))
	case EndingReleased:
		return fmt.Sprintf("won %s after node %d had released it", ms(s.Ownerless), s.Before)
	case EndingCrashed:
		return fmt.Sprintf("won %s after the guardian of node %d had told of its crash", ms(s.Ownerless), s.Before)
	case EndingExpired:
		return fmt.Sprintf("won about %s after the lease of node %d had run out", ms(s.Ownerless), s.Before)
	case EndingUnheard:
		return fmt.Sprintf("won after node %d, of whose end a majority has heard, and this node has not", s.Before)
	}
	return "won; no owner before is known in this run"
}

// TenureChange is a beginning or an end; the other one is nil.
type TenureChange struct {
	Start *TenureStart
	End   *TenureEnd
}

func ms(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

func nodes(s quorum.Set) string {
	list := make([]string, s.Len())
	for i := range list {
		list[i] = fmt.Sprint(s.At(i))
	}
	if len(list) == 1 {
		return "node " + list[0]
	}
	return "nodes " + strings.Join(list, " and ")
}
