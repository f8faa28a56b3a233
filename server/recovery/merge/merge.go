// Package merge puts together the log from the acceptors that survived the loss of a majority. For each slot it takes
// the value of the highest ballot, as a new leader would from their promises (M3). It also reports which slots are
// certain; that depends on the missing acceptors.
//
//	slots through Outcome.Chosen      at least one survivor knows that its value was chosen
//	Certain slots above               the survivors block every majority: whatever was chosen there, one of them has it,
//	                                  and under the highest ballot among them
//	other slots                       the nodes that are gone may have chosen another value, or one where no survivor has
//	                                  any; so they may have in all slots above Outcome.Last
//
// It is pure: it reads the logs through multipaxos.Reader, page by page, and holds one page of each.
package merge

import (
	"bytes"
	"errors"
	"fmt"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/multipaxos"
)

// ErrContradiction: two survivors hold different values under one ballot, or one lacks a slot that it says it has. No
// run of the protocol leads there: one of them is damaged, or of another cluster.
var ErrContradiction = errors.New("the survivors contradict each other")

// pageBytes is how much of each log is in memory.
const pageBytes = 1 << 20

// Survivor is the log of one stopped node.
type Survivor struct {
	Name    string // what errors call it
	Node    ballot.NodeID
	State   multipaxos.Slot // through it everything is in its state database
	Durable multipaxos.Durable
	Log     multipaxos.Reader
}

// Config is what is merged.
type Config struct {
	Survivors []Survivor // at least one, each of another node
	// Voters decide the slots above the newest state database, up to the first membership entry there.
	Voters quorum.Set
	// VotersOf returns the voters that a membership entry brings; ok is false for every other value.
	VotersOf func(value []byte) (voters quorum.Set, ok bool)
}

// Slot is one slot of the merged log.
type Slot struct {
	multipaxos.Entry // without a ballot if no survivor has anything there: then it becomes a no-op
	Chosen           bool
	// Certain: if anything was chosen in the slot, it is this.
	Certain bool
}

// Outcome says what a merge has come to.
type Outcome struct {
	Base   int             // the survivor of the newest state database, which is continued
	State  multipaxos.Slot // of it
	Chosen multipaxos.Slot // through it every slot is known to be chosen
	Last   multipaxos.Slot // the last slot in which a survivor has anything
	// Uncertain counts the slots up to Last in which the nodes that are gone may have chosen another value. Empty
	// counts the uncertain slots without a value at any survivor.
	Uncertain, Empty uint64
	// Complete: nothing that was ever acknowledged is missing, also above Last.
	Complete bool
	// Voters are those of the newest membership entry, chosen or not.
	Voters quorum.Set
}

// Merge calls each for the slots behind the newest state database, in order and without gaps, and stops at its first
// error.
func Merge(c Config, each func(Slot) error) (Outcome, error) {
	m := newMerger(c)
	for s := m.out.State + 1; s <= m.out.Last; s++ {
		slot, err := m.slot(s)
		if err != nil {
			return m.out, err
		}
		if err := each(slot); err != nil {
			return m.out, err
		}
	}
	m.out.Complete = m.certain()
	return m.out, nil
}

// merger walks along the logs.
type merger struct {
	Config
	out   Outcome
	logs  []cursor
	alive map[ballot.NodeID]bool
	// voters are the sets of voters that may decide the next slot. A membership entry that may not have been chosen adds
	// a set, and a chosen one replaces all. So every slot above an uncertain slot is uncertain too: that slot may have
	// brought other voters.
	voters []quorum.Set
}

func newMerger(c Config) *merger {
	m := &merger{Config: c, voters: []quorum.Set{c.Voters}, alive: map[ballot.NodeID]bool{}}
	m.out.Voters = c.Voters
	for i, s := range c.Survivors {
		m.alive[s.Node] = true
		m.logs = append(m.logs, cursor{log: s.Log, last: s.Durable.Last})
		if s.State > m.out.State {
			m.out.Base, m.out.State = i, s.State
		}
		m.out.Chosen = max(m.out.Chosen, s.Durable.Chosen, s.State)
		m.out.Last = max(m.out.Last, s.Durable.Last, s.State)
	}
	return m
}

// slot returns what slot s holds.
func (m *merger) slot(s multipaxos.Slot) (Slot, error) {
	out := Slot{Entry: multipaxos.Entry{Slot: s}, Chosen: s <= m.out.Chosen}
	var from *Survivor
	for i := range m.Survivors {
		x := &m.Survivors[i]
		e, ok, err := m.logs[i].at(s)
		if err != nil {
			return out, fmt.Errorf("%s: slot %d: %w", x.Name, s, err)
		}
		switch knows := s <= x.Durable.Chosen; {
		case !ok && knows && s > x.Durable.Truncated:
			return out, fmt.Errorf("%w: %s knows that slot %d is chosen, and has nothing there", ErrContradiction, x.Name, s)
		case !ok:
			continue
		case from != nil && e.Ballot == out.Ballot && !bytes.Equal(e.Value, out.Value):
			return out, fmt.Errorf("%w: slot %d, ballot %v: %s and %s hold different values", ErrContradiction, s, e.Ballot,
				from.Name, x.Name)
		case out.Chosen && !knows:
			continue
		}
		if from == nil || out.Ballot.Less(e.Ballot) {
			out.Entry, from = e, x
		}
	}
	if out.Chosen && from == nil {
		return out, fmt.Errorf("%w: slot %d is known to be chosen, and no log has it", ErrContradiction, s)
	}
	out.Certain = out.Chosen || m.certain()
	m.note(&out)
	return out, nil
}

// certain reports whether the survivors block every majority that may have chosen a value in the next slot.
func (m *merger) certain() bool {
	for _, v := range m.voters {
		gone := 0
		for _, id := range v.IDs() {
			if !m.alive[id] {
				gone++
			}
		}
		if gone >= v.Need() {
			return false
		}
	}
	return true
}

// note keeps what the slots above depend on.
func (m *merger) note(s *Slot) {
	if !s.Certain {
		m.out.Uncertain++
		if s.Ballot.IsZero() {
			m.out.Empty++
		}
	}
	voters, ok := m.VotersOf(s.Value)
	if !ok {
		return
	}
	m.out.Voters = voters
	if s.Chosen {
		m.voters = m.voters[:0]
	}
	m.voters = append(m.voters, voters)
}

// cursor reads one log forwards.
type cursor struct {
	log  multipaxos.Reader
	last multipaxos.Slot
	page []multipaxos.Entry
	read multipaxos.Slot // pages were read through it
}

// at returns the entry of slot s, of slots that rise.
func (c *cursor) at(s multipaxos.Slot) (multipaxos.Entry, bool, error) {
	for {
		for len(c.page) > 0 && c.page[0].Slot < s {
			c.page = c.page[1:]
		}
		if len(c.page) > 0 {
			return c.page[0], c.page[0].Slot == s, nil
		}
		from := max(s, c.read+1)
		if from > c.last {
			return multipaxos.Entry{}, false, nil
		}
		page, err := c.log.Entries(from, c.last, pageBytes)
		if err != nil {
			return multipaxos.Entry{}, false, err
		}
		if c.page, c.read = page, c.last; len(page) > 0 {
			c.read = page[len(page)-1].Slot
		}
	}
}
