package history

import (
	"fmt"
	"strings"
	"time"

	"tenure/internal/leasehold"
)

// Operations on several keys, on sessions and locks, and on what is told of changes.
const (
	Txn Kind = "txn" // Parts; Matched if it was done, Result its revision, Entries what its parts answered

	Create      Kind = "session-create"  // Session, TTL, Delay, Deletes
	Renew       Kind = "session-renew"   // Session; Absent if it had ended
	Destroy     Kind = "session-destroy" // Session
	SessionInfo Kind = "session-info"    // Session; Absent if it had ended
	Acquire     Kind = "acquire"         // Key, Value, Session; Matched if it was locked; Absent if the session had ended
	Release     Kind = "release"         // Key, Value, Session; Matched if it was unlocked

	// Key, Acquisition, TTL; Matched and Token if it was granted, else somebody else owns. Mode "waiting" if it waits
	// for that.
	LeaseAcquire Kind = "lease-acquire"
	LeaseRenew   Kind = "lease-renew"   // Key, Acquisition, TTL; Token if it was granted, Absent if the lease was gone
	LeaseRelease Kind = "lease-release" // Key, Acquisition; from its call on the client does not own, whatever comes of it

	// Stream is one connection that was told the changes under a prefix, Key. Index is where it resumed, and Result the
	// revision up to which it was told all. Entries are the changes in the order of their arrival. An entry with a
	// Create of 0 is a deletion at Modify. Gap is above 0 if it was told that changes up to that revision may be
	// missing.
	Stream Kind = "stream"

	// Master is the sight of a new mastership: Result is its epoch.
	Master Kind = "master"
)

// Extra is what only some kinds of operations have.
type Extra struct {
	Parts   []Part        `json:"parts,omitempty"`
	Session string        `json:"session,omitempty"` // of a get: who holds the lock
	Token   uint64        `json:"token,omitempty"`   // of the lock or lease of the write, sent or not; of a grant
	TTL     time.Duration `json:"ttl_ns,omitempty"`
	Delay   time.Duration `json:"delay_ns,omitempty"`
	Deletes bool          `json:"deletes,omitempty"` // a session whose keys are deleted at its end
	Since   uint64        `json:"since,omitempty"`   // of a read that waits: the index that it waits behind
	Gap     uint64        `json:"gap,omitempty"`
	Fenced  bool          `json:"fenced,omitempty"` // refused because a larger token was seen
	Denied  bool          `json:"denied,omitempty"` // refused for want of a permission

	// Of a lease. Each acquisition is of one client and one name, and used once. Waited is how much later than Call the
	// time of the grant may count from, because the node let the request wait for a busy name.
	Acquisition string        `json:"acquisition,omitempty"`
	Waited      time.Duration `json:"waited_ns,omitempty"`

	Redis
}

// Redis is what operations over the Redis protocol have.
type Redis struct {
	Via   string `json:"via,omitempty"`   // the connection, "" for HTTP
	Order int    `json:"order,omitempty"` // of the operation among all that were sent on Via, from 1
	From  string `json:"from,omitempty"`  // that a swap compares
	Size  int    `json:"size,omitempty"`  // in bytes, of the value that an append has made
	Tries int    `json:"tries,omitempty"` // how often it was sent, with one idempotency key
}

// Part is one operation of a transaction, by the names of its verbs.
type Part struct {
	Verb  string `json:"verb"` // set, cas, get-or-empty, check-index
	Key   string `json:"key"`
	Value string `json:"value,omitempty"`
	Index uint64 `json:"index,omitempty"`
}

// Writes tells whether the part changes anything.
func (p Part) Writes() bool { return p.Verb == "set" || p.Verb == "cas" }

// String is the part for people.
func (p Part) String() string {
	switch p.Verb {
	case "cas":
		return fmt.Sprintf("cas %s from @%d to %q", p.Key, p.Index, p.Value)
	case "check-index":
		return fmt.Sprintf("check %s @%d", p.Key, p.Index)
	case "set":
		return fmt.Sprintf("set %s %q", p.Key, p.Value)
	}
	return p.Verb + " " + p.Key
}

func (o *Op) more() string {
	switch o.Kind {
	case Txn:
		return o.txn()
	case Stream:
		text := fmt.Sprintf("stream %s from %d → %d changes, all up to %d", o.Key, o.Index, len(o.Entries), o.Result)
		if o.Gap > 0 {
			text += fmt.Sprintf(", then told that those up to %d may be missing", o.Gap)
		}
		for _, e := range o.Entries[:min(3, len(o.Entries))] {
			text += fmt.Sprintf("; %s %q @%d", e.Key, e.Value, e.Modify)
		}
		return text
	case Master:
		return fmt.Sprintf("epoch %d begins", o.Result)
	case LeaseAcquire, LeaseRenew, LeaseRelease:
		return o.lease()
	}
	end := "done"
	switch {
	case o.Outcome == Info:
		end = "unknown"
	case o.Absent:
		end = "the session has ended"
	case (o.Kind == Acquire || o.Kind == Release) && !o.Matched:
		end = "refused"
	case o.Kind == Acquire || o.Kind == Release:
		end = fmt.Sprintf("@%d", o.Result)
	}
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s %.8s → %s", o.Kind, o.Key, o.Session, end)), " ")
}

func (o *Op) txn() string {
	var b strings.Builder
	b.WriteString("txn")
	for _, p := range o.Parts {
		b.WriteString(" [" + p.String() + "]")
	}
	switch {
	case o.Outcome == Info:
		b.WriteString(" → unknown")
	case !o.Matched:
		b.WriteString(" → condition failed")
	default:
		fmt.Fprintf(&b, " → revision %d", o.Result)
	}
	for _, e := range o.Entries {
		fmt.Fprintf(&b, "; %s %q @%d", e.Key, e.Value, e.Modify)
	}
	return b.String()
}

// LeaseReply is what a grant tells its client; it arrives at Return.
func (o *Op) LeaseReply() leasehold.Reply {
	return leasehold.Reply{Asked: o.Call + o.Waited, TTL: o.TTL, Token: o.Token, Renewal: o.Kind == LeaseRenew}
}

func (o *Op) overRedis() string {
	end := "done"
	switch {
	case o.Outcome == Info:
		end = "unknown"
	case o.Kind == Swap && !o.Matched:
		end = "condition failed"
	case o.Kind == Append:
		end = fmt.Sprintf("%d bytes", o.Size)
	}
	text := fmt.Sprintf("%s %s %q → %s", o.Kind, o.Key, o.Value, end)
	if o.Kind == Swap {
		text = fmt.Sprintf("swap %s from %q to %q → %s", o.Key, o.From, o.Value, end)
	}
	if o.Via != "" {
		text += fmt.Sprintf(" (%d of connection %s)", o.Order, o.Via)
	}
	return text
}

func (o *Op) lease() string {
	end := "done"
	switch {
	case o.Outcome == Info:
		end = "unknown"
	case o.Absent:
		end = "gone"
	case o.Kind == LeaseAcquire && !o.Matched:
		end = "somebody else owns"
	case o.Kind != LeaseRelease:
		end = fmt.Sprintf("token %d.%d for %v", o.Token>>32, uint32(o.Token), o.TTL)
	}
	return fmt.Sprintf("%s %s by %s → %s", o.Kind, o.Key, o.Acquisition, end)
}
