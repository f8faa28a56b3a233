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
	"tenure/server/service"
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
	if node != m.cfg.Self {
		if _, _, ok := m.cfg.List.Load().Find(node); !ok {
			return &service.Error{Code: api.CodeNotMember,
				Text: fmt.Sprintf("node %d is not a member: nothing was changed", node)}
		}
	}
	_, err := m.drains.ask(timeout, node, wire.Drain{Off: off, Force: force})
	return err
}

// drainHere drains this node, or ends that. A node that is stopping, or is told to stop meanwhile, refuses for good: to
// ask again would only wait for its end.
func (m *Members) drainHere(_ time.Duration, d wire.Drain) (none struct{}, err error) {
	if d.Off {
		m.cfg.Drain.End()
		return none, nil
	}
	m.drain.Lock()
	defer m.drain.Unlock()
	stopping := &service.Error{Code: api.CodeMemberState,
		Text: fmt.Sprintf("node %d is stopping, which is as good as drained", m.cfg.Self)}
	if m.cfg.Lifecycle.Stopping() {
		return none, stopping
	}
	err = m.drainNow(d.Force)
	if err != nil && m.cfg.Lifecycle.Stopping() {
		return none, stopping
	}
	return none, err
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
		return fmt.Errorf("%w: the drain was ended before it took effect", service.ErrNotApplied)
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
			return &service.Error{Code: api.CodeQuorumLoss,
				Text: loss + ": nothing was changed; with force it is drained all the same"}
		}
		select {
		case <-m.cfg.Lifecycle.Ended():
			return fmt.Errorf("%w: this node is stopping: nothing was changed", service.ErrNotApplied)
		case <-time.After(replica.TickEvery):
		}
	}
}

// listWithDrains lists the members and asks each connected voter whether it is drained. A voter that does not answer is
// listed as not connected. givesWay: a voter has begun a drain that gives way to this node's.
func (m *Members) listWithDrains() (list api.MemberList, givesWay bool, err error) {
	if list, err = m.cfg.Cluster.ListMembers(); err != nil {
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
			told, err := m.states.ask(drainAskFor, ballot.NodeID(x.Node), struct{}{})
			states[i], x.Connected = told.State, err == nil
			if errors.Is(err, service.ErrOverloaded) {
				errs[i] = err
			}
		})
	}
	all.Wait()
	for i, s := range states {
		list.Members[i].Draining = s == wire.DrainBegun || s == wire.DrainOn
		givesWay = givesWay || s == wire.DrainBegun && list.Members[i].Node > uint64(m.cfg.Self)
	}
	return list, givesWay, errors.Join(errs...)
}

// drainState tells how far the drain of this node is.
func (m *Members) drainState(time.Duration, struct{}) (wire.DrainTold, error) {
	return wire.DrainTold{State: m.cfg.Drain.State()}, nil
}
