package runner

import (
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"tenure/internal/ident"
	"tenure/server/members"
	"tenure/server/replica"
	"tenure/storage"
)

// ErrRemoved ends the run of a node that is no member any more.
var ErrRemoved = errors.New("this node is no member of its cluster any more")

// MemberChangesConfig is what a MemberChanges is made of. All fields are required.
type MemberChangesConfig struct {
	Members *Members
	Store   *storage.Store
	// Connect has the transport connect to the members of now.
	Connect   func(m ident.Membership)
	Follow    func(before []ident.Member) // tells the guardian who is, and who was, a voter
	Elector   *Elector
	Leases    *Leases
	Log       *Log
	Lifecycle *Lifecycle
	Logger    zerolog.Logger
}

// MemberChanges puts memberships in force, each in this order. A membership that the log has chosen and applied is made
// durable. Then both lease parts use it. Only then the log part is told, and tells the others.
type MemberChanges struct {
	cfg  MemberChangesConfig
	next chan ident.Membership // the newest that waits; capacity 1
}

// NewMemberChanges returns a MemberChanges. c.Log hands memberships to it.
func NewMemberChanges(c MemberChangesConfig) *MemberChanges {
	m := &MemberChanges{cfg: c, next: make(chan ident.Membership, 1)}
	c.Log.members = m.put
	return m
}

// put has m put in force. It never waits: m replaces a waiting membership, which is older. One goroutine at a time
// calls it.
func (c *MemberChanges) put(m ident.Membership) {
	select {
	case <-c.next:
	default:
	}
	c.next <- m
}

// Loops returns the goroutine of the changes.
func (c *MemberChanges) Loops() []Loop { return []Loop{c.run} }

// run puts memberships in force until stop is closed. It first tells the log part what has been in force since the start.
func (c *MemberChanges) run(stop <-chan struct{}) error {
	c.tell(c.cfg.Elector.inForceAtStart, c.cfg.Leases.inForceAtStart)
	for {
		select {
		case <-stop:
			return nil
		case m := <-c.next:
			if err := c.enforce(m, stop); err != nil {
				return err
			}
		}
	}
}

// enforce puts m in force.
func (c *MemberChanges) enforce(m ident.Membership, stop <-chan struct{}) error {
	if err := c.cfg.Store.SetMembership(m); err != nil {
		return err
	}
	before := c.cfg.Members.Load()
	c.cfg.Members.set(m)
	c.cfg.Connect(m)
	c.cfg.Follow(before.Members)
	id := c.cfg.Store.Identity()
	c.cfg.Logger.Info().Stringer("membership", m).Msg("the members have changed")
	if !m.Lists(id.Node, id.Store) {
		return fmt.Errorf("%w: node %d was removed, and its id is never used again. To have this machine join, start a node "+
			"with --join and an empty data directory", ErrRemoved, id.Node)
	}
	in := members.InForce{Number: m.Number, Voters: m.Voters(), Era: m.Era}
	c.cfg.Elector.enforce(in, stop)
	c.cfg.Leases.enforce(in)
	var told [2]replica.PartInForce
	for i, from := range [...]<-chan replica.PartInForce{c.cfg.Elector.inForce, c.cfg.Leases.inForce} {
		select {
		case <-stop:
			return nil
		case told[i] = <-from:
		}
	}
	c.tell(told[0], told[1])
	return nil
}

// tell tells the log part what holds in both lease parts.
func (c *MemberChanges) tell(master, named replica.PartInForce) {
	c.cfg.Log.inbox.put(logEvent{Event: replica.Event{InForce: replica.InForceIn(master, named)}})
}
