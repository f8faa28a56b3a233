package sim

import (
	"errors"
	"io"

	"tenure/internal/ident"
	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/server/wire"
)

// The network carries frames, made and read by package wire as in the shell: a message is encoded when it is sent, and
// decoded when its bytes have arrived. Messages of the log follow each other on a connection; others travel alone.

// maxLogBytes is the largest body on a log connection.
const maxLogBytes = 64 << 20

// clusterID is the cluster of every run.
var clusterID = ident.ClusterID{0xc1}

// sendLogs sends messages of the log.
func (w *world) sendLogs(from *node, ms []multipaxos.Message) {
	wire.EncodeLogs(ms, func(m *multipaxos.Message, body []byte) {
		from.checkSent(m)
		size := 0
		for i := range m.Entries {
			size += len(m.Entries[i].Value)
		}
		w.sendLog(from, m.To, kindLog, body, size)
	})
}

// sendPeer sends a message of the log part.
func (w *world) sendPeer(from *node, m *replica.Message) {
	size := 0
	for i := range m.Writes {
		size += len(m.Writes[i].Command)
	}
	w.sendLog(from, m.To, kindPeer, wire.EncodeReplica(m), size)
}

// readFrame reads the first frame of a stream.
func (w *world) readFrame(stream []byte, most int) ([]byte, error) {
	w.stream.Reset(stream)
	w.frames.Reset(&w.stream)
	w.frames.SetLimit(most)
	return w.frames.Next()
}

// receive takes bytes that have arrived on a lane, and returns the message that they complete, if they do. As in the
// transport, a connection ends with its first frame that is no frame.
func (l *link) receive(i int, b []byte) (m input, ok bool) {
	w, lane := l.w, &l.lanes[i]
	from, to := l.a, l.b
	if i == 1 {
		from, to = l.b, l.a
	}
	if len(lane.unread) > 0 {
		b = append(lane.unread, b...)
	}
	body, err := w.readFrame(b, maxLogBytes)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		lane.unread = b // the reader waits for the rest
		return input{}, false
	case err != nil:
		l.sever()
		return input{}, false
	case len(b) != wire.FrameHeaderBytes+len(body):
		w.fail("frames", "of %d bytes from node %d the reader takes a body of %d", len(b), from.id, len(body))
	}
	lane.unread = nil
	said, err := wire.DecodeLog(body, from.id, to.id)
	if err != nil {
		w.fail("frames", "node %d cannot decode what node %d sent: %v", to.id, from.id, err)
	}
	return input{log: said.Log, peer: said.Replica}, true
}

// open returns the body of a frame that travelled alone, and false if it was damaged. The transport would end the
// connection; here nothing else is on it.
func (w *world) open(frame []byte, most int) ([]byte, bool) {
	body, err := w.readFrame(frame, most)
	return body, err == nil
}

// decodeLease returns what a body from a lease connection says.
func (w *world) decodeLease(from, to *node, body []byte) wire.LeaseBody {
	said, err := wire.DecodeLease(body)
	if err != nil {
		w.fail("frames", "node %d cannot decode what node %d sent: %v", to.id, from.id, err)
	}
	if m := said.Message; m != nil && (m.From != from.id || m.To != to.id) {
		w.fail("frames", "a lease message from node %d to node %d comes from node %d to node %d", m.From, m.To, from.id, to.id)
	}
	return said
}

// leaseEvent returns what a body from a lease connection means to the lease loop.
func (n *node) leaseEvent(from *node, body []byte) leaseEvent {
	said := n.w.decodeLease(from, n, body)
	if said.Nudge == nil {
		return leaseEvent{message: said.Message}
	}
	if said.Nudge.Node == uint64(n.id) {
		return leaseEvent{nudged: true}
	}
	return leaseEvent{standBack: n.w.plan.lease / 4}
}

// encodeCrash returns what a guardian says to a node.
func encodeCrash(to *node, c *crash) []byte {
	return wire.EncodeHandshake(&wire.ReleaseMsg{To: to.id, Release: wire.Release{Cluster: clusterID, Store: c.store, Owner: c.owner, Counters: c.counters}})
}

// crashEvent returns what a guardian's body means to the lease loop.
func (n *node) crashEvent(body []byte) leaseEvent {
	said, err := wire.DecodeHandshake(body)
	if err != nil {
		n.w.fail("frames", "node %d cannot decode what a guardian says: %v", n.id, err)
	}
	r := said.(*wire.ReleaseMsg).Release
	return leaseEvent{crash: &crash{store: r.Store, owner: r.Owner, counters: r.Counters}}
}

// decodeNamed returns the batch in a body from a connection for named leases.
func (w *world) decodeNamed(from, to *node, body []byte) *replica.LeaseBatch {
	b, err := wire.DecodeNamed(body)
	if err != nil {
		w.fail("frames", "node %d cannot decode what node %d sent: %v", to.id, from.id, err)
	}
	b.To = to.id
	return b
}
