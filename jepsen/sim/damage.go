package sim

import (
	"bytes"
	"errors"
	"io"

	"tenure/server/wire"
)

// Damage to frames on their way, in runs with the classes Cut and Garble. The reader of frames must notice it: as in
// the transport, the connection then ends, and nothing of the frame is taken for a message. Every damage here is one
// that the checksum finds for certain, but for those of the length, which it misses once in 2³² times.

// packet is a frame on its way.
type packet struct {
	bytes []byte
	fault Fault // Cut, Garble or none
}

// drawDamage draws from a stream of its own, as drawGuardian does.
func (p *plan) drawDamage(seed uint64) {
	r := stream(seed, 24)
	for _, f := range []Fault{Cut, Garble} {
		if r.chance(300) {
			p.faults |= f
		}
	}
	p.cutting, p.garbling = pick(&r, 1, 3, 10), pick(&r, 1, 3, 10)
}

// pack puts a frame on its way. It may be cut off, or four of its bytes may change: not those of the length above 255,
// because the reader would then wait for more bytes than ever come.
func (w *world) pack(frame []byte) packet {
	r := &w.damages
	switch {
	case w.phase != phaseFaults:
	case w.plan.on(Cut) && r.chance(w.plan.cutting):
		return packet{frame[:1+r.below(len(frame)-1)], Cut}
	case w.plan.on(Garble) && r.chance(w.plan.garbling):
		frame = bytes.Clone(frame)
		at, burst := 3+r.below(len(frame)-6), r.next()|1
		for i := range 4 {
			frame[at+i] ^= byte(burst >> (8 * i))
		}
		return packet{frame, Garble}
	}
	return packet{bytes: frame}
}

// readFrame reads the first frame of a stream.
func (w *world) readFrame(stream []byte, most int) ([]byte, error) {
	w.stream.Reset(stream)
	w.frames.Reset(&w.stream)
	w.frames.SetLimit(most)
	return w.frames.Next()
}

// receive takes a packet that has arrived on a lane, and returns the body of the frame that it completes, if it does.
func (l *link) receive(i int, p packet) (body []byte, ok bool) {
	w, lane := l.w, &l.lanes[i]
	stream := p.bytes
	if len(lane.unread) > 0 {
		stream = append(lane.unread, stream...)
	}
	lane.fault |= p.fault
	body, err := w.readFrame(stream, maxLogBytes)
	if errors.Is(err, io.ErrUnexpectedEOF) && p.fault != Cut {
		lane.unread = stream // the length was garbled: the reader waits for the rest
		return nil, false
	}
	if err != nil {
		w.noticed(lane.fault, err)
		l.sever()
		return nil, false
	}
	w.mustBeWhole(stream, body, lane.fault)
	return body, true
}

// open returns the body of a frame that travelled alone, if it is whole. The transport would end the connection with
// one that is not; here nothing else is on it.
func (w *world) open(p packet, most int) (body []byte, ok bool) {
	body, err := w.readFrame(p.bytes, most)
	if err != nil {
		w.noticed(p.fault, err)
		return nil, false
	}
	w.mustBeWhole(p.bytes, body, p.fault)
	return body, true
}

// noticed: the reader refuses a frame, which must have been damaged.
func (w *world) noticed(fault Fault, err error) {
	if fault == 0 {
		w.fail("frames", "a frame that nothing has happened to is refused: %v", err)
	}
	if w.trace.on() {
		w.trace.note("a damaged frame (%v): %v", fault, err)
	}
	w.effect(fault)
}

// mustBeWhole: the reader takes a frame, which must be one.
func (w *world) mustBeWhole(stream, body []byte, fault Fault) {
	if fault != 0 || len(stream) != wire.FrameHeaderBytes+len(body) {
		w.fail("frames", "of %d bytes (damage: %q) the reader takes a body of %d for whole", len(stream), fault, len(body))
	}
}
