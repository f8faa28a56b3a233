package transport

import (
	"sync"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/wire"
)

// History remembers, for this run only, the highest marks of the peers' stores, to refuse a peer whose disk was rolled
// back or copied. That cannot be recognized in general; this check costs nothing.
//
// Marks are compared across incarnations only. Two hellos of one incarnation may arrive out of order, but a restarted
// store must have everything that it ever reported.
type History struct {
	mu     sync.Mutex
	stores map[ballot.NodeID]*storeHistory // of admitted peers only, which bounds it
}

type storeHistory struct {
	store   ident.StoreID
	inc     ballot.Incarnation
	before  wire.Marks // the highest of earlier incarnations
	current wire.Marks // the highest of inc, at least before
}

// Admit checks h and, if nothing is wrong with it, remembers it.
func (s *History) Admit(h *wire.Hello) *Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.compare(h); r != nil {
		return r
	}
	t := s.stores[h.Node]
	switch {
	case t == nil || t.store != h.Store:
		t = &storeHistory{store: h.Store, inc: h.Incarnation}
		if s.stores == nil {
			s.stores = make(map[ballot.NodeID]*storeHistory)
		}
		s.stores[h.Node] = t
	case t.inc != h.Incarnation:
		t.inc, t.before = h.Incarnation, t.current
	}
	t.current = t.current.Max(h.Marks)
	return nil
}

// Check is Admit without remembering.
func (s *History) Check(h *wire.Hello) *Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.compare(h)
}

func (s *History) compare(h *wire.Hello) *Refusal {
	t := s.stores[h.Node]
	if t == nil || t.store != h.Store {
		return nil
	}
	floor := t.before
	if t.inc != h.Incarnation {
		if h.Incarnation.Restart <= t.inc.Restart {
			return refuse(wire.ReasonRestart, "node %d comes as incarnation %s, but was seen as %s: "+
				"a run with the same or a higher restart counter. "+
				"Its data directory was rolled back or copied, or two processes run on copies of it. "+
				"Stop it; a store that has forgotten something must not vote.",
				h.Node, h.Incarnation, t.inc)
		}
		floor = t.current
	}
	if h.Marks.Promised.Less(floor.Promised) || h.Marks.Accepted < floor.Accepted {
		return refuse(wire.ReasonRolledBack, "node %d comes with promise %s and log up to slot %d, "+
			"but an earlier run of it had promise %s and log up to slot %d. "+
			"Its data directory was rolled back. Stop it; a store that has forgotten something must not vote.",
			h.Node, h.Marks.Promised, h.Marks.Accepted, floor.Promised, floor.Accepted)
	}
	return nil
}

// forget forgets a removed node.
func (s *History) forget(node ballot.NodeID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.stores, node)
}

// raise takes higher marks of a running incarnation.
func (s *History) raise(inc ballot.Incarnation, m wire.Marks) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.stores[inc.Node]; t != nil && t.inc == inc {
		t.current = t.current.Max(m)
	}
}

// tookPart reports whether this store was connected as a member during this run.
func (s *History) tookPart(node ballot.NodeID, store ident.StoreID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.stores[node]
	return t != nil && t.store == store
}
