package lease

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"tenure/internal/ballot"
)

// MaxNotes bounds the ballots that are noted for the guardian at a time. A holder that renews in peace has some seven;
// one attempt after the other, each after RetryAfter's shortest wait, makes 64 in two lease times.
const MaxNotes = 64

// Notes is P7's list: the ballots, by their counters, of the Accepts for `master` that one incarnation has sent and
// whose records may live. The zero value is empty. A copy is independent.
//
// The list decides only how soon another node may own after a crash. A missing ballot costs the rest of the lease. A
// ballot that was never sent, or that all acceptors have forgotten, matches no record (A3).
type Notes struct{ list []note } // by counter, rising; never changed in place

type note struct {
	counter uint64
	until   time.Duration // the record that its last Accept may have made ends by then, but for a delay in the network
}

// Sent is told what is about to leave, all of one incarnation, before it does. An Accept is noted for D_A from its last
// sending, answered or not. With a ballot that is released go all older ones, which P6 does not name.
func (n *Notes) Sent(now time.Duration, t Timing, ms []Message) {
	for _, m := range ms {
		switch m.Kind {
		case KindAccept:
			span, err := t.Exclusion(m.Duration)
			if err != nil {
				continue // no acceptor takes it
			}
			n.put(now, m.Ballot.Counter, now+span)
		case KindRelease:
			n.list = slices.DeleteFunc(slices.Clone(n.list), func(x note) bool { return x.counter <= m.Ballot.Counter })
		}
	}
}

// put notes a counter until then and forgets what cannot live any more. To make space the oldest goes.
func (n *Notes) put(now time.Duration, counter uint64, until time.Duration) {
	list := slices.DeleteFunc(slices.Clone(n.list), func(x note) bool { return x.until <= now || x.counter == counter })
	if len(list) == MaxNotes {
		list = slices.Delete(list, 0, 1)
	}
	i, _ := slices.BinarySearchFunc(list, counter, func(x note, c uint64) int { return cmp.Compare(x.counter, c) })
	n.list = slices.Insert(list, i, note{counter, until})
}

// AppendCounters appends the counters of the ballots that may have live records, rising, at most MaxNotes.
func (n Notes) AppendCounters(buf []uint64, now time.Duration) []uint64 {
	for _, x := range n.list {
		if now < x.until {
			buf = append(buf, x.counter)
		}
	}
	return buf
}

// AppendState appends an encoding of what n's future depends on, as Proposer.AppendState does.
func (n Notes) AppendState(buf []byte, now time.Duration) []byte {
	for _, x := range n.list {
		if now < x.until {
			buf = binary.AppendUvarint(buf, x.counter)
			buf = appendLeft(buf, x.until-now)
		}
	}
	return append(buf, 0)
}

// CrashReleases is what the guardian of a dead incarnation has to say to one acceptor: a Release for each counter.
func CrashReleases(owner ballot.Incarnation, to ballot.NodeID, counters []uint64) []Message {
	out := make([]Message, 0, len(counters))
	for _, c := range counters {
		out = append(out, Message{Kind: KindRelease, From: owner.Node, To: to, Resource: MasterResource, Class: ClassMaster,
			Ballot: ballot.New(c, owner), Owner: owner})
	}
	return out
}
