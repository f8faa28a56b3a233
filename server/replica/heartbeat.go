package replica

import (
	"time"

	"tenure/internal/ballot"
)

// masterView is who serves, as far as this node has been told.
type masterView struct {
	node    ballot.NodeID // 0: unknown
	epoch   uint64        // highest epoch heard of; kept when the node is forgotten
	heard   time.Duration // when its newest heartbeats came
	sign    uint64        // tick at which anything came from it
	until   time.Duration // when its lease ends if nothing more is heard: a hint (L1)
	applied uint64        // by it, as of the heartbeats before the newest
	newest  uint64
}

// peerView is what this node has heard of another.
type peerView struct {
	node      ballot.NodeID
	connected bool
	space     Space
	applied   uint64
	heard     time.Duration // 0: never
}

// silentTicks is how long nothing must have come from the master, which sends heartbeats every heartbeatTicks, before
// this node hands it nothing more: a write without an idempotency key that it took and does not answer is lost to its
// client, while one that waits here goes to the next master.
const silentTicks = 8

// silent tells whether the master seems to hang. It decides only what to send to it, nothing about its lease.
func (l *Log) silent() bool { return l.ticks-l.master.sign >= silentTicks }

// sign notes that something came from a peer.
func (l *Log) sign(from ballot.NodeID) {
	if from == l.master.node {
		l.master.sign = l.ticks
	}
}

// receive takes one message of another log part.
func (l *Log) receive(now time.Duration, m Message) {
	l.sign(m.From)
	switch m.Kind {
	case KindHeartbeat:
		l.hear(now, m.From, m.Heartbeat)
	case KindForward:
		l.takeForwarded(now, m.From, m.Writes)
	case KindForwarded:
		l.away.answered(l, now, m.From, m.Answers)
	case KindReadPoint:
		l.reads.fromFollower(l, now, m.From, m.Read)
	case KindReadPointR:
		l.reads.fromMaster(l, m.From, m.Read)
	}
}

// connected and Disconnected follow the log connection to a peer.
func (l *Log) connected(peer ballot.NodeID) {
	if v := l.peer(peer); v != nil {
		v.connected = true
	}
	l.core.Connected(peer)
	l.heartbeatTo(peer)
}

// disconnected forgets what is on its way to peer: keyed writes and reads start again, other writes are unknown.
func (l *Log) disconnected(peer ballot.NodeID) {
	if v := l.peer(peer); v != nil {
		v.connected = false
	}
	if l.master.node == peer {
		l.master.node = 0
	}
	l.away.lost(l, peer)
	l.reads.recall(peer)
	l.queue.take(func(w write) bool { return w.from == peer }) // nobody is left to answer
}

// hear takes another node's heartbeats.
func (l *Log) hear(now time.Duration, from ballot.NodeID, v Heartbeat) {
	p := l.peer(from)
	if p == nil {
		return
	}
	p.space, p.applied, p.heard = v.Space, v.Applied, now
	switch {
	case v.Master && v.Epoch >= l.master.epoch:
		before := l.master.newest
		if l.master.node != from || l.master.epoch != v.Epoch {
			before = v.Applied
			l.away.recall(l, func(a *awayWrite) bool { return a.keyed && a.to != from })
			if l.master.node != from {
				l.reads.recall(l.master.node)
			}
		}
		l.master = masterView{node: from, epoch: v.Epoch, heard: now, sign: l.ticks, until: now + v.LeaseLeft, applied: before, newest: v.Applied}
	case !v.Master && l.master.node == from:
		l.master.node = 0
	}
}

// sendHeartbeats tells all peers how this node is.
func (l *Log) sendHeartbeats(now, deadline time.Duration) {
	v := l.heartbeat(now, deadline)
	for i := range l.peers {
		l.send(Message{Kind: KindHeartbeat, To: l.peers[i].node, Heartbeat: v})
	}
}

func (l *Log) heartbeatTo(peer ballot.NodeID) {
	l.send(Message{Kind: KindHeartbeat, To: peer, Heartbeat: l.heartbeat(0, 0)})
}

func (l *Log) heartbeat(now, deadline time.Duration) Heartbeat {
	v := Heartbeat{Applied: l.state.Applied(), Space: l.space.told()}
	if l.ready {
		v.Master, v.Epoch, v.LeaseLeft = true, uint64(l.barrier), max(0, deadline-now)
	}
	return v
}

func (l *Log) send(m Message) {
	m.From = l.cfg.Self.Node
	l.out.Messages = append(l.out.Messages, m)
}

func (l *Log) peer(id ballot.NodeID) *peerView {
	for i := range l.peers {
		if l.peers[i].node == id {
			return &l.peers[i]
		}
	}
	return nil
}

// masterAt is who serves, 0 if unknown, with the epoch, the age of its last word and what is left of its lease, a hint.
func (l *Log) masterAt(now time.Duration) (node ballot.NodeID, epoch uint64, age, left time.Duration) {
	m := l.master
	if m.node == l.cfg.Self.Node {
		return m.node, m.epoch, 0, 0
	}
	return m.node, m.epoch, now - m.heard, max(0, m.until-now)
}

// MasterNode is who serves as far as this node has been told, 0 if unknown.
func (l *Log) MasterNode() ballot.NodeID { return l.master.node }

// CaughtUp tells whether this node serves, or has applied what the master had applied when it spoke last but one.
func (l *Log) CaughtUp() bool {
	return l.master.node == l.cfg.Self.Node || (l.master.node != 0 && l.state.Applied() >= l.master.applied)
}
