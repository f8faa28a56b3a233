package sim

import "time"

// event is something that happens at a point of true time. Events of one time happen in the order in which they were
// made.
type event struct {
	at      time.Duration
	serial  uint64
	machine *machine // nil: of none
	run     uint64   // of the machine: an event of an earlier run is dropped
	kind    kind
	lane    bool // keeps its order with the others that do, if the machine is paused
	do      func()
}

// kind is what an event is, for the trace and its hash.
type kind uint8

const (
	kindLease      kind = iota + 1 // a lease message arrives
	kindTimer                      // the lease loop's timer
	kindLater                      // the lease loop goes on after it read the clock
	kindLog                        // a message of the log arrives
	kindPeer                       // a message of the log part arrives
	kindLink                       // a connection stands or is broken
	kindTick                       // the log loop's ticker
	kindRound                      // the log loop wakes up
	kindStage                      // the log loop goes on within a round
	kindDisk                       // a commit ends
	kindMove                       // log.db has taken records of the journal
	kindCheckpoint                 // a checkpoint ends
	kindWatch                      // the watcher of the quarantine record
	kindStart                      // a process is started
	kindAsk                        // a client's request arrives at a node
	kindTake                       // a reader takes the data
	kindEnd                        // a reader checks the lease
	kindTell                       // an answer arrives at its client
	kindClient                     // a client does something
	kindFault                      // the nemesis does something
	kindHand                       // a step of a hand-over
	kindHeal                       // the faults end
	kindNamed                      // messages of named leases arrive
	kindNamedTimer                 // the timer of their loop
	kindNamedLater                 // their loop goes on after it read the clock
	kindHealth                     // a word of health arrives
	kindProgress                   // the check of progress looks
	kindLeaser                     // a client of named leases does something, or is told something
	kindClock                      // a stamp arrives, or a node looks at its clock
	kindMembers                    // members change: a disk, a lease part or the operator goes on
)

var kindNames = [...]string{
	kindLease: "lease", kindTimer: "timer", kindLater: "lease+", kindLog: "log", kindPeer: "peer", kindLink: "link",
	kindTick: "tick", kindRound: "round", kindStage: "stage", kindDisk: "disk", kindMove: "move",
	kindCheckpoint: "checkpoint", kindWatch: "watch", kindStart: "start", kindAsk: "ask", kindTake: "take",
	kindEnd: "end", kindTell: "tell", kindClient: "client", kindFault: "fault", kindHand: "hand", kindHeal: "heal",
	kindNamed: "named", kindNamedTimer: "ntimer", kindNamedLater: "named+", kindHealth: "health",
	kindProgress: "progress", kindLeaser: "leaser", kindMembers: "members", kindClock: "clock",
}

// before orders events.
func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.serial < o.serial
}

// agenda is a heap of events, the next one first.
type agenda []*event

func (a *agenda) push(e *event) {
	h := append(*a, e)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !e.before(h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = e
	*a = h
}

func (a *agenda) pop() *event {
	h := *a
	first, last := h[0], h[len(h)-1]
	h[len(h)-1] = nil
	h = h[:len(h)-1]
	*a = h
	if len(h) == 0 {
		return first
	}
	i := 0
	for {
		down := 2*i + 1
		if down >= len(h) {
			break
		}
		if down+1 < len(h) && h[down+1].before(h[down]) {
			down++
		}
		if !h[down].before(last) {
			break
		}
		h[i] = h[down]
		i = down
	}
	h[i] = last
	return first
}
