package replica

import (
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/quorum"
	"tenure/kv"
	"tenure/server/members"
)

// membersView is this node's view of the members: their ids, their connections, and the space on their disks and its
// own.
type membersView struct {
	self ballot.NodeID
	// newest is the newest membership that is known here: of the state, or of this node's identity, if the state is not
	// there yet.
	newest  ident.Membership
	voters  quorum.Set    // of newest
	next    ballot.NodeID // the id that the next member gets, or a lower one that nobody has any more
	peers   []peerView    // the other members, and whoever else is connected: this node may be behind
	space   Space         // of the own disk
	assured uint64        // tick at which it was last up to date, as far as it knew
	// relieved is the tick before which this node does not hand over again by itself.
	relieved uint64
}

// peerView is what this node has heard of another.
type peerView struct {
	node      ballot.NodeID
	listed    bool // a member
	connected bool
	space     Space
	applied   uint64
	heard     time.Duration // 0: never
	inForce   uint64        // as it said when it was heard
	excluding time.Duration // as it said then
	silent    time.Duration // as it said then
	level     uint64        // the highest feature level that it knows, as it said then
	told      bool          // it said so since it is connected
	toldFrom  time.Duration // and first at this reading
	digests   []Digest      // as it said then; of another format than this node's: none
}

// heardLately reports whether p is connected, and its last heartbeat came less than AliveFor ago. The facts for package
// members (Log.facts) give a new master so long to hear it first.
func (p *peerView) heardLately(now time.Duration) bool {
	return p.connected && p.heard > 0 && now-p.heard < AliveFor
}

// AliveFor is how long ago a member may have been heard at most that counts as alive, if it is connected.
const AliveFor = time.Second

// maxPeers bounds membersView.peers: a connected node that newest does not list is added only to fewer peers.
const maxPeers = 64

func newMembers(self ballot.NodeID, m ident.Membership) membersView {
	v := membersView{self: self}
	v.follow(m, members.First(m).NextNode)
	return v
}

// follow takes a membership over, unless a newer one is known, and the id that the next member gets after it.
func (m *membersView) follow(next ident.Membership, nextNode ballot.NodeID) {
	m.next = max(m.next, nextNode)
	if m.newest.Newer(next) {
		return
	}
	m.newest, m.voters = next, next.Voters()
	var peers []peerView
	for _, x := range next.All() {
		if x.Node == m.self {
			continue
		}
		p := peerView{node: x.Node}
		if known := m.peer(x.Node); known != nil {
			p = *known
		}
		p.listed = true
		peers = append(peers, p)
	}
	for _, p := range m.peers {
		if _, _, ok := next.Find(p.node); !ok && p.connected {
			p.listed = false
			peers = append(peers, p)
		}
	}
	m.peers = peers
}

// votes reports whether this node is a voter.
func (m *membersView) votes() bool { return m.voters.Has(m.self) }

func (m *membersView) peer(id ballot.NodeID) *peerView {
	for i := range m.peers {
		if m.peers[i].node == id {
			return &m.peers[i]
		}
	}
	return nil
}

// connected follows the log connection to a peer.
func (m *membersView) connected(peer ballot.NodeID, up bool) {
	p := m.peer(peer)
	switch {
	case p != nil:
		p.connected, p.told = up, false
		if !up && !p.listed {
			m.peers = slices.DeleteFunc(m.peers, func(p peerView) bool { return p.node == peer })
		}
	case up && len(m.peers) < maxPeers:
		m.peers = append(m.peers, peerView{node: peer, connected: true})
	}
}

// hear takes a heartbeat, and reports whether it is that of a member, or of a connected node.
func (m *membersView) hear(now time.Duration, from ballot.NodeID, h Heartbeat) bool {
	p := m.peer(from)
	if p == nil {
		return false
	}
	p.space, p.applied, p.heard = h.Space, h.Applied, now
	// Number and exclusion must come from the same heartbeat. A restarted node does not know its exclusion at first,
	// and acknowledges nothing until then.
	p.inForce, p.excluding, p.silent = h.Membership, h.Excluding, h.Silent
	if p.digests = nil; h.DigestFormat == kv.DigestFormat {
		p.digests = h.Digests
	}
	if !p.told {
		p.toldFrom = now
	}
	p.level, p.told = h.Level, true
	return true
}

// allHave returns the slot through which all members have applied the log, as they said last, this node through own.
func (m *membersView) allHave(own uint64) uint64 {
	for i := range m.peers {
		if p := &m.peers[i]; p.listed {
			own = min(own, p.applied)
		}
	}
	return own
}

// announce sends a heartbeat to all peers.
func (m *membersView) announce(h Heartbeat, out *outbox) {
	for i := range m.peers {
		out.send(Message{Kind: KindHeartbeat, To: m.peers[i].node, Heartbeat: h})
	}
}

// spaceFor reports whether the master may propose a write. With too few members connected for any quorum the write
// waits for them instead: nobody knows yet what space there will be.
func (m *membersView) spaceFor(frees bool) bool { return m.quorumWith(frees) || !m.quorumConnected() }

// quorumWith reports whether this node and members connected to it that have space make a quorum: SpaceEnough, or, for
// what frees space, any.
func (m *membersView) quorumWith(frees bool) bool {
	if !m.space.takes(frees) {
		return false
	}
	return m.quorumOf(func(p *peerView) bool { return p.space.takes(frees) })
}

func (m *membersView) quorumConnected() bool { return m.quorumOf(func(*peerView) bool { return true }) }

// quorumOf reports whether this node and the voters connected to it that are as is says make a quorum.
func (m *membersView) quorumOf(is func(*peerView) bool) bool {
	var with quorum.Set
	if m.votes() {
		with.Add(m.self)
	}
	for i := range m.peers {
		if p := &m.peers[i]; p.connected && m.voters.Has(p.node) && is(p) {
			with.Add(p.node)
		}
	}
	return quorum.Reached(m.voters, with)
}

// full lists the members that are short of space: this node, and those connected to it.
func (m *membersView) full() []ballot.NodeID {
	var full []ballot.NodeID
	for _, x := range m.newest.All() {
		p := m.peer(x.Node)
		if x.Node == m.self && m.space != SpaceEnough || p != nil && p.connected && p.space != SpaceEnough {
			full = append(full, x.Node)
		}
	}
	return full
}
