package multipaxos

import (
	"errors"
	"fmt"

	"tenure/internal/ballot"
)

// ErrConfig is wrapped by every error of Config.Validate.
var ErrConfig = errors.New("invalid log configuration")

// ErrDamaged is wrapped by errors that show the log on disk to be incomplete or wrong. The node must stop.
var ErrDamaged = errors.New("log damaged")

// ErrTruncated is returned for slots that are gone from this node's log: its state database has them.
var ErrTruncated = errors.New("slot truncated from the log")

// Limits that do not depend on configuration, so that nodes with different configurations understand each other.
const (
	// maxAhead bounds how far above its chosen mark an acceptor stores entries, and so what it keeps in memory.
	maxAhead = 1 << 16
	// maxWindow keeps every leader's window well inside what acceptors store.
	maxWindow = maxAhead / 4
	// maxPageEntries bounds the entries of one message beside PageBytes, which does not count empty values.
	maxPageEntries = 1024
	// maxWaiting bounds the messages that wait for the disk. Replies beyond it are dropped: peers ask again.
	maxWaiting = 1 << 14
	// maxTruncate bounds the slots that one Persist deletes, so that truncation never holds up writes for long.
	maxTruncate = 1024
	// maxNumber bounds counters and slots that a peer may name, so that adding one to them cannot overflow.
	maxNumber = 1 << 62
	// maxJump bounds how far the counter of a ballot may be above all that this node has met. Elections raise it by one
	// each. Without the bound one message could use up all counters, and no ballot could follow.
	maxJump = 1 << 40
)

// Intervals in ticks.
const (
	idleTicks      = 5  // between Marks that have nothing new to say
	prepareTicks   = 3  // between repetitions of an unanswered Prepare
	confirmTicks   = 2  // between repetitions of an unanswered Confirm
	fetchTicks     = 3  // before a Fetch without an answer goes to another node
	chosenTicks    = 50 // before a chosen mark that found no Persist to ride on gets its own
	minResendTicks = 3  // without an acknowledgement before Accepts are sent again; doubles each time
	maxResendTicks = 50
)

// Config is fixed for a run.
type Config struct {
	Self ballot.Incarnation
	// MembershipOf tells whether value is a membership entry, and which membership it brings (its Slot is that of the
	// entry). It depends on nothing but the value, and is asked for every value. Nil: no value is one.
	MembershipOf func(value []byte) (m Membership, ok bool)
	// PageBytes bounds the values in one page of Promise, Learn or retransmission.
	PageBytes int
	// WindowEntries and WindowBytes bound what the leader has proposed and not yet seen chosen.
	WindowEntries int
	WindowBytes   int
	// CacheBytes bounds the durable entries kept in memory besides those in flight.
	CacheBytes int
	// KeepEntries and KeepBytes bound the tail of the log that is kept below the own checkpoint for members that lag.
	// Whichever is reached first ends it. Of bytes, what is in the cache does not count, and 0 is no bound. While no
	// member lags an eighth of both is kept; see Core.SetAllHave.
	KeepEntries uint64
	KeepBytes   int
	// NeedOf is what an entry with this value needs of a disk that is full; see Core.SetSpace. It depends on nothing but
	// the value. Nil: nothing.
	NeedOf func(value []byte) Need
}

// Need is what an entry needs of a disk.
type Need uint8

// The needs, in rising order.
const (
	NeedNothing Need = iota // so little that it is always stored: a no-op, a barrier entry
	NeedReserve             // stored from the reserve, while there is some: mostly it gives space back
	NeedSpace               // more data
)

// Validate returns what is wrong with c, wrapping ErrConfig, or nil.
func (c Config) Validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrConfig, fmt.Sprintf(format, args...))
	}
	switch {
	case c.Self.Node == 0 || c.Self.Node > ballot.MaxNodeID:
		return bad("node id %d is not in 1 to %d", c.Self.Node, ballot.MaxNodeID)
	case c.PageBytes < 1:
		return bad("PageBytes is %d, must be positive", c.PageBytes)
	case c.WindowEntries < 1 || c.WindowEntries > maxWindow:
		return bad("WindowEntries is %d, must be 1 to %d", c.WindowEntries, maxWindow)
	case c.WindowBytes < 1:
		return bad("WindowBytes is %d, must be positive", c.WindowBytes)
	case c.KeepBytes < 0:
		return bad("KeepBytes is %d, must not be negative", c.KeepBytes)
	case c.CacheBytes < 0:
		return bad("CacheBytes is %d, must not be negative", c.CacheBytes)
	}
	return nil
}
