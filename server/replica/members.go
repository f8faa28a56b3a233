package replica

import (
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// members is what this node knows of the members: who is connected, and how much space is on their disks and its own.
type members struct {
	self   ballot.NodeID
	voters quorum.Set
	peers  []peerView
	space  Space // of the own disk
	// relieved is the tick before which this node does not hand over again for want of space.
	relieved uint64
}

// peerView is what this node has heard of another.
type peerView struct {
	node      ballot.NodeID
	connected bool
	space     Space
	applied   uint64
	heard     time.Duration // 0: never
}

func newMembers(self ballot.NodeID, voters quorum.Set) members {
	m := members{self: self, voters: voters}
	for _, id := range voters.IDs() {
		if id != self {
			m.peers = append(m.peers, peerView{node: id})
		}
	}
	return m
}

func (m *members) peer(id ballot.NodeID) *peerView {
	for i := range m.peers {
		if m.peers[i].node == id {
			return &m.peers[i]
		}
	}
	return nil
}

// connected follows the log connection to a peer.
func (m *members) connected(peer ballot.NodeID, up bool) {
	if p := m.peer(peer); p != nil {
		p.connected = up
	}
}

// hear takes a heartbeat, and reports whether it is a member's.
func (m *members) hear(now time.Duration, from ballot.NodeID, h Heartbeat) bool {
	p := m.peer(from)
	if p == nil {
		return false
	}
	p.space, p.applied, p.heard = h.Space, h.Applied, now
	return true
}

// announce sends a heartbeat to all peers.
func (m *members) announce(h Heartbeat, out *outbox) {
	for i := range m.peers {
		out.send(Message{Kind: KindHeartbeat, To: m.peers[i].node, Heartbeat: h})
	}
}

// spaceFor reports whether the master may propose a write. With too few members connected for any quorum the write
// waits for them instead: nobody knows yet what space there will be.
func (m *members) spaceFor(frees bool) bool { return m.quorumWith(frees) || !m.quorumConnected() }

// quorumWith reports whether this node and members connected to it that have space make a quorum: SpaceEnough, or, for
// what frees space, any.
func (m *members) quorumWith(frees bool) bool {
	if !m.space.takes(frees) {
		return false
	}
	with := quorum.Of(m.self)
	for i := range m.peers {
		if p := &m.peers[i]; p.connected && p.space.takes(frees) {
			with.Add(p.node)
		}
	}
	return quorum.Reached(m.voters, with)
}

func (m *members) quorumConnected() bool {
	with := quorum.Of(m.self)
	for i := range m.peers {
		if m.peers[i].connected {
			with.Add(m.peers[i].node)
		}
	}
	return quorum.Reached(m.voters, with)
}

// full lists the members that are short of space: this node, and those connected to it.
func (m *members) full() []ballot.NodeID {
	var full []ballot.NodeID
	for _, id := range m.voters.IDs() {
		p := m.peer(id)
		if id == m.self && m.space != SpaceEnough || p != nil && p.connected && p.space != SpaceEnough {
			full = append(full, id)
		}
	}
	return full
}

// relief is a member to hand over to if this node is short of space: it has more, as have enough others for a quorum
// without this node, and it is caught up with what is applied here. 0: there is none, or no need.
func (m *members) relief(tick, applied uint64) ballot.NodeID {
	if m.space == SpaceEnough || tick < m.relieved {
		return 0
	}
	for _, frees := range [...]bool{false, true} {
		if m.space.takes(frees) {
			break
		}
		var with quorum.Set
		next := ballot.NodeID(0)
		for i := range m.peers {
			p := &m.peers[i]
			if !p.connected || !p.space.takes(frees) {
				continue
			}
			with.Add(p.node)
			if next == 0 && p.applied+SuccessorLag >= applied {
				next = p.node
			}
		}
		if next != 0 && quorum.Reached(m.voters, with) {
			m.relieved = tick + reliefTicks
			return next
		}
	}
	return 0
}

// SuccessorLag is how many slots a node may be behind and still take over: heartbeats are a few ticks old.
const SuccessorLag = 1000

// reliefTicks is the time between two attempts to hand over for want of space.
const reliefTicks = 250
