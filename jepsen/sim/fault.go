package sim

import (
	"fmt"
	"math/bits"
	"strings"
)

// Fault is a set of classes of faults.
type Fault uint32

// The classes.
const (
	Drop      Fault = 1 << iota // lease messages are lost
	Duplicate                   // lease messages come twice, the second one late
	Reorder                     // lease messages overtake each other
	Delay                       // messages take long now and then
	LogDrop                     // messages of the log are refused by a full queue
	Break                       // log connections break
	OneWay                      // nothing passes in one direction
	Partition                   // nothing passes between groups of nodes
	Crash                       // a process dies and is started again; the machine too, now and then
	CrashAll                    // all processes die at once
	Pause                       // a process stops for a while and its clock goes on (SIGSTOP, suspend)
	Lag                         // the scheduler lets the loops of a node wait, the log loop for long
	Drift                       // clock rates differ and change, by less than ρ
	Freeze                      // a clock stops or jumps: outside the promise
	SlowDisk                    // commits take long
	StallDisk                   // a commit takes very long
	EIO                         // a commit fails: the process dies
	Rot                         // a record goes bad: the node must stop
	Wipe                        // a disk is replaced by an empty one: the node must stay out
	Low                         // a disk reaches its reserve, or has no space at all
	HandOver                    // the master hands over, or a node is stopped in order
	Guardian                    // a process that dies leaves a guardian (P7), which tells the others late or not at all
	StuckDisk                   // a disk returns from nothing any more; in half of the cases the log loop waits for it
	LargeLost                   // large messages of the log from or to a node never arrive, small ones do
	Cut                         // frames are cut off: the connection breaks in the middle of one
	Garble                      // bytes of a frame change on the way
	Copied                      // a process starts with a copy of a disk that others have seen newer
	Differ                      // the state of a node comes to differ from that of the others: it must stop

	allFaults  = Differ<<1 - 1
	latecomers = Guardian | StuckDisk | LargeLost | Cut | Garble | Copied | Differ // drawn from streams of their own
)

// index returns the place of a single class in faultNames.
func (f Fault) index() int { return bits.TrailingZeros32(uint32(f)) }

var faultNames = [...]string{"drop", "duplicate", "reorder", "delay", "logdrop", "break", "oneway", "partition",
	"crash", "crashall",
	"pause", "lag", "drift", "freeze", "slowdisk", "stalldisk", "eio", "rot", "wipe", "low", "handover", "guardian",
	"stuckdisk", "largelost",
	"cut", "garble", "copied", "differ"}

// String returns the names of the classes, joined by commas.
func (f Fault) String() string {
	var names []string
	for i, name := range faultNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// ParseFaults is the reverse of Fault.String.
func ParseFaults(list string) (f Fault, err error) {
	for _, name := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		found := false
		for i := range faultNames {
			if faultNames[i] == name {
				f |= 1 << i
				found = true
			}
		}
		if !found {
			return 0, fmt.Errorf("no class of faults is called %q; there are %s", name, allFaults)
		}
	}
	return f, nil
}
