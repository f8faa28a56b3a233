package sim

import (
	"fmt"
	"reflect"

	"tenure/internal/ident"
	"tenure/lease"
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
		if w.looksAtWire() {
			w.mustSurvive(*m, *w.decodeLog(from, w.node(m.To), body).log)
		}
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
	body := wire.EncodeReplica(m)
	if w.looksAtWire() {
		sent := *m
		sent.From = from.id
		w.mustSurvive(sent, *w.decodeLog(from, w.node(m.To), body).peer)
	}
	w.sendLog(from, m.To, kindPeer, body, size)
}

// sendLeases sends lease messages.
func (w *world) sendLeases(from *node, ms []lease.Message) {
	for i := range ms {
		m, to := &ms[i], w.node(ms[i].To)
		body := wire.EncodeLease(m)
		if w.looksAtWire() {
			w.mustSurvive(*m, *w.decodeLease(from, to, body).Message)
		}
		w.sendLease(from, m.To, body)
	}
}

// sendNamed sends what a node has for another about named leases.
func (w *world) sendNamed(from *node, b *replica.LeaseBatch) {
	to := w.node(b.To)
	for len(b.Requests)+len(b.Replies) > 0 {
		sent := *b
		body := wire.EncodeNamed(b)
		sent.Requests = sent.Requests[:len(sent.Requests)-len(b.Requests)]
		sent.Replies = sent.Replies[:len(sent.Replies)-len(b.Replies)]
		if w.looksAtWire() {
			w.mustSurvive(sent, *w.decodeNamed(from, to, body))
		}
		w.sendNamedFrame(from, to, wire.AppendFrame(nil, body))
	}
}

// looksAtWire reports whether mustSurvive looks at a message: at one of seven, for it takes its time.
func (w *world) looksAtWire() bool {
	w.sent++
	return w.sent%7 == 0
}

// mustSurvive: what is decoded is what was encoded.
func (w *world) mustSurvive(sent, got any) {
	if reflect.DeepEqual(sent, got) {
		return
	}
	if s, g := fmt.Sprintf("%+v", sent), fmt.Sprintf("%+v", got); s != g { // else nothing but empty lists and none differ
		w.fail("wire", "sent %s, and decoded %s", s, g)
	}
}

// decodeLog returns what a body from a log connection says.
func (w *world) decodeLog(from, to *node, body []byte) input {
	said, err := wire.DecodeLog(body, from.id, to.id)
	if err != nil {
		w.fail("frames", "node %d cannot decode what node %d sent: %v", to.id, from.id, err)
	}
	return input{log: said.Log, peer: said.Replica}
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
