package sim

import (
	"errors"
	"io"
	"time"
)

// link is the log connection between two nodes. Each direction keeps its order, and what was under way is lost when the
// connection breaks. Lease messages have no connection here: each one is on its own.
type link struct {
	net        *network
	a, b       *endpoint
	generation uint64 // rises whenever it stands or breaks
	stands     bool
	dialling   bool
	lanes      [2]lane // from a, from b
}

// lane is one direction of a link.
type lane struct {
	last   time.Duration // arrival of the newest message
	held   []packet      // arrived where nothing passes: they go on when something does
	unread []byte        // the beginning of a frame of which more is to come
	fault  Fault         // what has happened to frames of this connection; none: they are whole
}

// ends returns the sender and the receiver of lane i.
func (l *link) ends(i int) (from, to *endpoint) {
	if i == 0 {
		return l.a, l.b
	}
	return l.b, l.a
}

// dial tries to connect after a while, and again until the connection stands.
func (l *link) dial() {
	if l.dialling {
		return
	}
	l.dialling = true
	x := l.net
	x.at(nil, kindLink, x.random.between(x.plan.redial/4, x.plan.redial), func() {
		l.dialling = false
		if l.stands || l.a.out || l.b.out {
			return
		}
		if !l.a.ready(l.b) || !l.b.ready(l.a) || !x.passes(l.a, l.b) || !x.passes(l.b, l.a) || !x.shakeHands(l.a, l.b) {
			l.dial()
			return
		}
		l.connect()
	})
}

func (l *link) connect() {
	x := l.net
	l.generation++
	l.stands = true
	l.lanes = [2]lane{{last: x.now}, {last: x.now}}
	if x.trace.on() {
		x.trace.note("nodes %d and %d connect", l.a.id, l.b.id)
	}
	l.a.linked[l.b.i], l.b.linked[l.a.i] = l.generation, l.generation
	l.a.takeLog(input{up: l.b.id})
	if l.b.up() {
		l.b.takeLog(input{up: l.a.id})
	}
}

// sever ends the connection. Both sides hear of it, each in its time; then somebody dials again.
func (l *link) sever() {
	if !l.stands {
		return
	}
	x := l.net
	l.generation++
	l.stands = false
	if x.trace.on() {
		x.trace.note("the connection of nodes %d and %d breaks", l.a.id, l.b.id)
	}
	for i := range l.lanes {
		n, peer := l.ends(i)
		if !n.up() || n.linked[peer.i] == 0 {
			continue
		}
		e := n.later(kindLink, x.random.skewed(10*time.Microsecond, 5*time.Millisecond), func() {
			n.linked[peer.i] = 0
			n.takeLog(input{down: peer.id})
		})
		e.lane = true
	}
	l.dial()
}

// known reports whether the connection stands, and both processes know.
func (l *link) known() bool {
	return l.stands && l.a.up() && l.b.up() && l.a.linked[l.b.i] == l.generation && l.b.linked[l.a.i] == l.generation
}

// send sends a frame on lane i.
func (l *link) send(i int, k kind, frame []byte) {
	x, lane := l.net, &l.lanes[i]
	from, to := l.ends(i)
	lane.last = max(lane.last+1, x.now+x.delay(false))
	generation, p := l.generation, x.pack(frame)
	e := to.later(k, lane.last-x.now, func() {
		switch {
		case l.generation != generation:
		case !x.passes(from, to):
			lane.held = append(lane.held, p)
		default:
			if m, ok := l.receive(i, p); ok {
				l.hand(to, &m)
			}
		}
	})
	e.lane = true
}

// hand gives what has arrived to its receiver.
func (l *link) hand(to *endpoint, m *input) {
	l.net.trace.log(m)
	to.takeLog(*m)
}

// release hands over what a partition held up, in order and before anything that is still on its way.
func (l *link) release(i int) {
	from, to := l.ends(i)
	if !l.stands || !l.net.passes(from, to) {
		return
	}
	held := l.lanes[i].held
	l.lanes[i].held = nil
	for _, p := range held {
		if !to.up() {
			return
		}
		m, ok := l.receive(i, p)
		switch {
		case !ok && !l.stands:
			return
		case !ok:
		case to.paused:
			to.held = append(to.held, &event{machine: to.machine, run: to.run, kind: kindLog, lane: true,
				do: func() { to.takeLog(m) }})
		default:
			l.hand(to, &m)
		}
	}
}

// receive takes a packet that has arrived on lane i, and returns what the frame says that it completes, if it does.
func (l *link) receive(i int, p packet) (m input, ok bool) {
	x, lane := l.net, &l.lanes[i]
	stream := p.bytes
	if len(lane.unread) > 0 {
		stream = append(lane.unread, stream...)
	}
	lane.fault |= p.fault
	body, err := x.readFrame(stream, maxLogBytes)
	if errors.Is(err, io.ErrUnexpectedEOF) && p.fault != Cut {
		lane.unread = stream // the length was garbled: the reader waits for the rest
		return m, false
	}
	if err != nil {
		x.noticed(lane.fault, err)
		l.sever()
		return m, false
	}
	x.mustBeWhole(stream, body, lane.fault)
	from, to := l.ends(i)
	m = x.decodeLog(from.machine, to.machine, body)
	m.sent = p.sent
	return m, true
}
