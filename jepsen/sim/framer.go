package sim

import (
	"bytes"
	"fmt"
	"reflect"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/replica"
	"tenure/server/replica/leases"
	"tenure/server/wire"
)

// framer makes packets of frames and reads them, in runs with the classes Cut and Garble with damage. The reader of
// frames must notice damage: as in the transport, the connection then ends, and nothing of the frame is taken for a
// message. Every damage here is one that the checksum finds for certain, but for those of the length, which it misses
// once in 2³² times.
type framer struct {
	*engine
	damages random
	reader  bytes.Reader // what frames reads
	frames  *wire.FrameReader
	looked  int // messages that looksAtWire was asked about
}

// packet is a frame on its way.
type packet struct {
	bytes []byte
	fault Fault // Cut, Garble or none
	sent  time.Duration
}

// clusterID is the cluster of every run.
var clusterID = ident.ClusterID{0xc1}

// pack puts a frame on its way. It may be cut off, or four of its bytes may change: not those of the length above 255,
// because the reader would then wait for more bytes than ever come.
func (f *framer) pack(frame []byte) packet {
	r := &f.damages
	switch {
	case f.faulty(Cut) && r.chance(f.plan.cutting):
		return packet{frame[:1+r.below(len(frame)-1)], Cut, f.now}
	case f.faulty(Garble) && r.chance(f.plan.garbling):
		frame = bytes.Clone(frame)
		at, burst := 3+r.below(len(frame)-6), r.next()|1
		for i := range 4 {
			frame[at+i] ^= byte(burst >> (8 * i))
		}
		return packet{frame, Garble, f.now}
	}
	return packet{bytes: frame, sent: f.now}
}

// readFrame reads the first frame of a stream.
func (f *framer) readFrame(stream []byte, most int) ([]byte, error) {
	f.reader.Reset(stream)
	f.frames.Reset(&f.reader)
	f.frames.SetLimit(most)
	return f.frames.Next()
}

// open returns the body of a frame that travelled alone, if it is whole. The transport would end the connection with
// one that is not; here nothing else is on it.
func (f *framer) open(p packet, most int) (body []byte, ok bool) {
	body, err := f.readFrame(p.bytes, most)
	if err != nil {
		f.noticed(p.fault, err)
		return nil, false
	}
	f.mustBeWhole(p.bytes, body, p.fault)
	return body, true
}

// noticed checks that a frame that the reader refuses was damaged.
func (f *framer) noticed(fault Fault, err error) {
	if fault == 0 {
		f.fail("frames", "a frame that nothing has happened to is refused: %v", err)
	}
	if f.trace.on() {
		f.trace.note("a damaged frame (%v): %v", fault, err)
	}
	f.effect(fault)
}

// mustBeWhole checks that what the reader takes for a frame is one.
func (f *framer) mustBeWhole(stream, body []byte, fault Fault) {
	if fault != 0 || len(stream) != wire.FrameHeaderBytes+len(body) {
		f.fail("frames", "of %d bytes (damage: %q) the reader takes a body of %d for whole", len(stream), fault,
			len(body))
	}
}

// looksAtWire reports whether mustSurvive looks at a message: at one of seven, since it takes time.
func (f *framer) looksAtWire() bool {
	f.looked++
	return f.looked%7 == 0
}

// mustSurvive checks that decoding returns the encoded value.
func (f *framer) mustSurvive(sent, got any) {
	if reflect.DeepEqual(sent, got) {
		return
	}
	if s, g := fmt.Sprintf("%+v", sent), fmt.Sprintf("%+v",
		got); s != g { // else nothing but empty lists and none differ
		f.fail("wire", "sent %s, and decoded %s", s, g)
	}
}

// mustDecode checks that a body could be decoded.
func (f *framer) mustDecode(from ballot.NodeID, to *machine, err error) {
	if err != nil {
		f.fail("frames", "node %d cannot decode what node %d sent: %v", to.id, from, err)
	}
}

// decodeLog returns what a body from a log connection says.
func (f *framer) decodeLog(from, to *machine, body []byte) input {
	said, err := wire.DecodeLog(body, from.id, to.id)
	f.mustDecode(from.id, to, err)
	return input{log: said.Log, peer: said.Replica}
}

// decodeLease returns what a body from a lease connection says.
func (f *framer) decodeLease(from, to *machine, body []byte) wire.LeaseBody {
	said, err := wire.DecodeLease(body)
	f.mustDecode(from.id, to, err)
	if m := said.Message; m != nil && (m.From != from.id || m.To != to.id) {
		f.fail("frames", "a lease message from node %d to node %d comes from node %d to node %d", m.From, m.To, from.id,
			to.id)
	}
	return said
}

// leaseEvent returns what a body from a lease connection means to a node's lease loop.
func (f *framer) leaseEvent(to *machine, said wire.LeaseBody) leaseEvent {
	switch {
	case said.Nudge == nil:
		return leaseEvent{message: said.Message}
	case said.Nudge.Node == uint64(to.id):
		return leaseEvent{nudged: true}
	}
	return leaseEvent{standBack: replica.NudgeStandBack(f.plan.lease)}
}

// decodeNamed returns the batch in a body from a connection for named leases.
func (f *framer) decodeNamed(from, to *machine, body []byte) *leases.Batch {
	b, err := wire.DecodeNamed(body)
	f.mustDecode(from.id, to, err)
	b.To = to.id
	return b
}

// encodeCrash returns what a guardian says to a node.
func encodeCrash(to ballot.NodeID, c *crash) []byte {
	return wire.EncodeHandshake(&wire.ReleaseMsg{To: to,
		Release: wire.Release{Cluster: clusterID, Store: c.store, Owner: c.owner, Counters: c.counters}})
}

// decodeCrash returns what a guardian's body says.
func (f *framer) decodeCrash(to *machine, body []byte) *crash {
	said, err := wire.DecodeHandshake(body)
	if err != nil {
		f.fail("frames", "node %d cannot decode what a guardian says: %v", to.id, err)
	}
	r := said.(*wire.ReleaseMsg).Release
	return &crash{store: r.Store, owner: r.Owner, counters: r.Counters}
}
