package transport

import (
	"cmp"
	"maps"
	"slices"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/wire"
)

// table is this node's membership with its peers: the other members, unlisted nodes that have connected with a newer
// membership, and removed nodes until Transport.Dismiss. It is replaced as a whole, never changed.
type table struct {
	membership ident.Membership
	roster     ident.Roster             // as last told; its membership may be an older or a newer one
	dismissed  uint64                   // as last told to dismiss
	hints      map[ballot.NodeID]string // addresses of members, for those that the membership has none of
	list       []*peer                  // by rising id
}

// address returns where x, a member, is dialled; "" if that is not known.
func (t *table) address(x ident.Member) string { return cmp.Or(x.PeerAddr, t.hints[x.Node]) }

// known returns addrs, completed with t's addresses of its members. A node that has joined was told these addresses,
// and they may be in no membership.
func (t *table) known(addrs map[ballot.NodeID]string) map[ballot.NodeID]string {
	hints := map[ballot.NodeID]string{}
	for _, x := range t.membership.All() {
		if addr := t.address(x); addr != "" {
			hints[x.Node] = addr
		}
	}
	maps.Copy(hints, addrs)
	return hints
}

// membership returns this node's membership.
func (s *peers) membership() ident.Membership { return s.now.Load().membership }

// held reports whether nodes outside the membership are no longer needed.
func (t *table) held() bool { return t.membership.Number <= max(1, t.dismissed) }

// keeps reports whether p, which is no member, stays a peer.
func (t *table) keeps(p *peer) bool {
	has := p.goesBy()
	return t.mayBeNeeded(has) || !t.gone(p.node) && (!t.held() || has.Newer(t.membership))
}

// list returns the peers by rising id. It must not be changed.
func (s *peers) list() []*peer { return s.now.Load().list }

// get returns the peer of that id, nil if there is none.
func (s *peers) get(node ballot.NodeID) *peer {
	for _, p := range s.list() {
		if p.node == node {
			return p
		}
	}
	return nil
}

// replace switches to m if it is newer. Peers of m are kept or made, with the address from m, or from addrs, or from
// the membership before. Other peers are dropped and their connections end, except for those that keeps retains.
func (s *peers) replace(m ident.Membership, addrs map[ballot.NodeID]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !m.Newer(s.membership()) {
		return
	}
	now := s.now.Load()
	next := &table{membership: m, roster: now.roster, dismissed: now.dismissed, hints: now.known(addrs)}
	self, _, _ := m.Find(s.cfg.Self)
	for _, x := range m.All() {
		if x.Node == s.cfg.Self {
			continue
		}
		p := s.get(x.Node)
		if p == nil {
			p = newPeer(s.sockets.ctx, x.Node)
		}
		addr := next.address(x)
		if addr == next.address(self) {
			addr = "" // this node has taken its place
		}
		p.setAddress(addr)
		p.setName(nameOf(x))
		next.list = append(next.list, p)
	}
	var gone []*peer
	for _, p := range s.list() {
		switch _, _, listed := m.Find(p.node); {
		case listed:
		case next.keeps(p):
			next.list = append(next.list, p)
		default:
			gone = append(gone, p)
		}
	}
	slices.SortFunc(next.list, byNode)
	s.now.Store(next)
	s.end(gone)
	next.endBarred()
}

// dismiss notes that nodes in no membership from that number on are no longer needed.
func (s *peers) dismiss(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now.Load()
	if number <= now.dismissed {
		return
	}
	s.goOver(&table{membership: now.membership, roster: now.roster, dismissed: number, hints: now.hints})
}

// goOver replaces the table by next, which has the same membership and no peers yet. The caller holds mu.
func (s *peers) goOver(next *table) {
	var gone []*peer
	for _, p := range s.list() {
		if _, _, listed := next.membership.Find(p.node); listed || next.keeps(p) {
			next.list = append(next.list, p)
		} else {
			gone = append(gone, p)
		}
	}
	s.now.Store(next)
	s.end(gone)
	next.endBarred()
}

// end ends the connections of peers that are no longer members.
func (s *peers) end(gone []*peer) {
	for _, p := range gone {
		s.log.Info().Uint64("peer", uint64(p.node)).Uint64("membership", s.membership().Number).
			Msg("peer is no member any more")
		s.forget(p)
	}
}

// admit returns the peer with the hello h. A node outside the membership becomes a peer if it has a newer membership,
// or may still be needed. The membership may have changed since the handshake. cert is as for handshaker.check.
func (s *peers) admit(h *wire.Hello, cert string) (*peer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now.Load()
	if r := cmp.Or(checkMember(h, now, s.cfg.Self), now.checkRemoved(h, cert, s.cfg.Self)); r != nil {
		return nil, r
	}
	if p := s.get(h.Node); p != nil {
		return p, nil
	}
	list := slices.Clone(now.list)
	out, full := now.makesRoom(cert)
	switch {
	case out != nil:
		list = slices.DeleteFunc(list, func(p *peer) bool { return p == out })
		s.forget(out)
	case full:
		return nil, refuse(wire.ReasonNotReady, "node %d takes no connection to node %d: it has some to %d nodes already "+
			"that its membership %s does not list", s.cfg.Self, h.Node, maxUnknown, now.membership)
	}
	p := newPeer(s.sockets.ctx, h.Node)
	p.cert, p.has = cert, h.Has()
	list = append(list, p)
	slices.SortFunc(list, byNode)
	s.now.Store(&table{membership: now.membership, roster: now.roster, dismissed: now.dismissed, hints: now.hints,
		list: list})
	return p, nil
}

// makesRoom returns the peer to drop for a new one outside the membership with the certificate cert, nil if none. A
// certificate belongs to one node, so the new peer takes the place of an earlier one with the same certificate: else
// one node could take all places under invented ids. full reports whether all places are taken.
func (t *table) makesRoom(cert string) (out *peer, full bool) {
	unknown := 0
	for _, p := range t.list {
		if _, _, listed := t.membership.Find(p.node); listed {
			continue
		}
		if cert != "" && p.cert == cert {
			return p, false
		}
		if unknown++; !p.connected() {
			out = p
		}
	}
	if unknown < maxUnknown {
		return nil, false
	}
	return out, true
}

// forget ends the connections of a peer that has left the table.
func (s *peers) forget(p *peer) {
	p.remove()
	s.left.Add(p.ignored())
	s.handshake.history.forget(p.node)
}

func byNode(a, b *peer) int { return cmp.Compare(a.node, b.node) }
