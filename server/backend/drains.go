package backend

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/drain"
	"tenure/server/replica"
	"tenure/server/web"
	"tenure/server/wire"
)

// A node that is to be drained asks the other voters whether they are, for drainAskFor each time. While some of them
// are about to find out the same it asks again, for drainLookFor at most.
const (
	drainAskFor  = time.Second
	drainLookFor = 3 * time.Second
)

// DrainNode makes a node hand mastership over and take no new clients, or take them again.
func (m *Members) DrainNode(timeout time.Duration, node ballot.NodeID, off, force bool) error {
	if node == m.cfg.Self {
		return m.drainHere(off, force)
	}
	if _, _, ok := m.cfg.Cluster.cfg.Members.Load().Find(node); !ok {
		return &web.MemberError{Code: api.CodeNotMember,
			Text: fmt.Sprintf("node %d is not a member: nothing was changed", node)}
	}
	told, how := m.drains.ask(timeout, m.cfg.Lifecycle.Ended(), func(id uint64) bool {
		return m.cfg.Send.SendLog(node, wire.EncodeDrain(wire.Drain{ID: id, Off: off, Force: force}))
	})
	return drainError(node, told, how)
}

// drainError returns the error of a drain of another node, which has answered or not.
func drainError(node ballot.NodeID, told wire.Drained, how asked) error {
	switch {
	case how == tooMany:
		return errTooManyAsked
	case how == unsent:
		return fmt.Errorf("%w: node %d is not connected to this node", web.ErrNotApplied, node)
	case how == unanswered:
		return fmt.Errorf("%w: node %d did not answer in time; ask again", web.ErrUnknown, node)
	case told.Stops:
		return &web.MemberError{Code: api.CodeMemberState, Text: told.Problem}
	case told.Loss:
		return &web.MemberError{Code: api.CodeQuorumLoss, Text: told.Problem}
	case told.Problem != "":
		return web.NotApplied(fmt.Sprintf("node %d", node), errors.New(told.Problem))
	}
	return nil
}

// Drain drains this node because another one was asked to. One too many is not answered.
func (m *Members) Drain(from ballot.NodeID, d wire.Drain) {
	m.drains.work(func() {
		answer := wire.Drained{ID: d.ID}
		if err := m.drainHere(d.Off, d.Force); err != nil {
			var refused *web.MemberError
			answer.Problem = err.Error()
			if errors.As(err, &refused) {
				answer.Loss, answer.Stops = refused.Code == api.CodeQuorumLoss, refused.Code == api.CodeMemberState
			}
		}
		m.cfg.Send.SendLog(from, wire.EncodeDrained(answer))
	})
}

// Drained takes a node's answer to a drain.
func (m *Members) Drained(d wire.Drained) { m.drains.answer(d.ID, d) }

// drainHere drains this node, or ends that. A node that is stopping, or is told to stop meanwhile, refuses for good: to
// ask again would only wait for its end.
func (m *Members) drainHere(off, force bool) error {
	if off {
		m.cfg.Drain.End()
		return nil
	}
	m.drain.Lock()
	defer m.drain.Unlock()
	stopping := &web.MemberError{Code: api.CodeMemberState,
		Text: fmt.Sprintf("node %d is stopping, which is as good as drained", m.cfg.Self)}
	if m.cfg.Lifecycle.Stopping() {
		return stopping
	}
	err := m.drainNow(force)
	if err != nil && m.cfg.Lifecycle.Stopping() {
		return stopping
	}
	return err
}

// drainNow drains this node. It is called by drainHere alone.
func (m *Members) drainNow(force bool) error {
	if !m.cfg.Drain.Begin() {
		return m.cfg.Drain.Repeat() // it is drained
	}
	// Only now: every other voter that begins a drain later sees this one.
	if !force {
		if err := m.mayDrain(); err != nil {
			m.cfg.Drain.End()
			return err
		}
	}
	done, err := m.cfg.Drain.Complete()
	if !done {
		return fmt.Errorf("%w: the drain was ended before it took effect", web.ErrNotApplied)
	}
	return err
}

// mayDrain returns nil if enough voters are left without this node, which has begun to drain. If several nodes have
// begun to drain, the one with the highest id gives way first, and the others wait for that.
//
// Drains without force never end with all voters drained: the voter that begins last looks after all others have begun,
// finds no voter left, and is refused.
func (m *Members) mayDrain() error {
	for end := time.Now().Add(drainLookFor); ; {
		list, givesWay, err := m.listWithDrains()
		if err != nil {
			return err
		}
		self := uint64(m.cfg.Self)
		var loss string
		for _, x := range list.Members {
			if x.Node == self {
				loss = drain.Without(list, self).Loss(x)
			}
		}
		switch {
		case loss == "":
			return nil
		case !givesWay || time.Now().After(end):
			return &web.MemberError{Code: api.CodeQuorumLoss,
				Text: loss + ": nothing was changed; with force it is drained all the same"}
		}
		select {
		case <-m.cfg.Lifecycle.Ended():
			return fmt.Errorf("%w: this node is stopping: nothing was changed", web.ErrNotApplied)
		case <-time.After(replica.TickEvery):
		}
	}
}

// listWithDrains lists the members and asks each connected voter whether it is drained. A voter that does not answer is
// listed as not connected. givesWay: a voter has begun a drain that gives way to this node's.
func (m *Members) listWithDrains() (list api.MemberList, givesWay bool, err error) {
	if list, err = m.ListMembers(drainAskFor); err != nil {
		return list, false, err
	}
	errs, states := make([]error, len(list.Members)), make([]wire.DrainState, len(list.Members))
	var all sync.WaitGroup
	for i := range list.Members {
		x := &list.Members[i]
		if !x.Voter || !x.Connected || x.Node == uint64(m.cfg.Self) {
			continue
		}
		all.Go(func() {
			var told wire.MembersTold
			told, x.Connected, errs[i] = m.askDrain(ballot.NodeID(x.Node))
			states[i] = told.Drain
		})
	}
	all.Wait()
	for i, s := range states {
		list.Members[i].Draining = s == wire.DrainBegun || s == wire.DrainOn
		givesWay = givesWay || s == wire.DrainBegun && list.Members[i].Node > uint64(m.cfg.Self)
	}
	return list, givesWay, errors.Join(errs...)
}

// askDrain asks another node how far its drain is. Not ok: it did not answer. A node of an older version answers
// without saying it.
func (m *Members) askDrain(node ballot.NodeID) (told wire.MembersTold, ok bool, err error) {
	q := wire.MembersAsk{DryRun: true, Drain: true, Wait: drainAskFor / 2}
	told, how := m.asks.ask(drainAskFor, m.cfg.Lifecycle.Ended(), func(id uint64) bool {
		q.ID = id
		return m.cfg.Send.SendLog(node, wire.EncodeMembersAsk(&q))
	})
	if how == tooMany {
		err = errTooManyAsked
	}
	return told, how == answered, err
}
