// Package effect names what the drivers of a node's parts ask of whoever runs them, and reads the clock for them. All
// parts share the names, so that the simulator can stop a node before an effect of any part.
package effect

import "time"

// Effect is what the driver of a part asks its caller to do next. The caller carries the effect out and calls Next
// again. It may pause for any time before and after that; the driver alone fixes the order of effects. The data of an
// effect is read from the driver, and stays valid until the next call of Next.
type Effect uint8

// The effects. The comment says what the caller does.
const (
	// Take: wait until there is something to do, and hand it over with Add. A round begins with it.
	Take Effect = iota + 1
	// Clock: read the node's elapsed clock, then what the other part publishes, and hand them over with Read.
	Clock
	// Apply, Freeze, Checkpointed: call Locked, with the lock on the state held for writing.
	Apply
	Freeze
	Checkpointed
	// Standing: a tick is over; publish Log.Standing for the elector, and do what Log.Relief asks for.
	Standing
	// Persist: hand Output.Persists to storage, in order; report what is durable with Event.Persisted.
	Persist
	// Ready: publish Output.Ready and Output.Epoch.
	Ready
	// Progress: send Output.Health, and hand Output.LetGo to the elector (M6). Before that, publish Log.Standing: it
	// bars further attempts.
	Progress
	// Send: send the messages. Sending never waits.
	Send
	// Reply: give the answers to those who wait for them.
	Reply
	// Checkpoint: hand Output.Checkpoint to storage; report its end with Event.Checkpointed.
	Checkpoint

	// Members: begin to make Output.Members durable, and then to put it in force in both lease parts; when that is
	// done, report it with Event.InForce. If it does not list this node, the node is removed: it says so and ends.
	Members
	// Dismiss: nodes that no membership from the number Output.Dismiss on lists are no longer needed. End the
	// connections to nodes that this node's membership does not list, and tell them of their removal. Until then they
	// are peers as before.
	Dismiss

	// Lease: publish elector.Round.State, whether or not it has changed.
	Lease
	// Tenures: take note of elector.Part.TakeTenureChanges, for people.
	Tenures
	// Note: show elector.Part.AppendNoted to the guardian (P7).
	Note

	// InForce: tell the log part of the round's InForce. It comes once for each event with a membership, when the
	// part goes by it.
	InForce

	// Bucket: begin to make leases.Round.Bucket durable (N4); report it with leases.Event.Bucket.
	Bucket
	// Era: begin to ask the log for an era (N3); report it with leases.Event.Era.
	Era

	// Data: take what the read is about.
	Data

	// Level: end the connections to nodes that do not know the feature level Output.Level, and admit none.
	Level

	// Timer: make a round happen at Wake at the latest.
	Timer
	// Done: the round is over.
	Done
)

var effectNames = [...]string{
	"", "take", "clock", "apply", "freeze", "checkpointed", "standing", "persist", "ready", "progress", "send", "reply",
	"checkpoint", "members", "dismiss", "lease", "tenures", "note", "in force", "bucket", "era", "data", "level", "timer",
	"done",
}

// String returns the name of the effect, for traces.
func (e Effect) String() string { return effectNames[e] }

// Unless returns e, or 0 if there is nothing to do.
func (e Effect) Unless(nothing bool) Effect {
	if nothing {
		return 0
	}
	return e
}

// ClockStep is the step of a driver that reads the clock: the newest reading, and whether the caller owes one.
type ClockStep struct {
	now  time.Duration
	owed bool
}

// Ask asks the caller for a reading.
func (c *ClockStep) Ask() Effect {
	c.owed = true
	return Clock
}

// Read is the caller's answer.
func (c *ClockStep) Read(now time.Duration) { c.now, c.owed = now, false }

// Now is the newest reading.
func (c *ClockStep) Now() time.Duration { return c.now }

// MustHaveRead panics if the caller goes on without the reading that it was asked for: the order would be broken.
func (c *ClockStep) MustHaveRead() {
	if c.owed {
		panic("effect: a round goes on without the clock that it has asked for")
	}
}
